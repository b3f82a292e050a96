"""Attacks on a retry that waits to be sent, and on what evidence of an earlier sending may say."""

from tests.ledger.attack import Attack, Guard, Lines
from tests.ledger.attacks_on_decisions import AS_WORKER, PAST_TRIGGERS, WORKER, applying, proposal
from tests.ledger.attacks_on_effects import (
    BODY,
    CLAIM,
    DECLINED,
    REFUSED,
    answered,
    hand,
    move,
    step,
)
from tests.ledger.attacks_on_evidence import (
    CONFIRMING,
    FAILED,
    lookup,
    switched_on,
)


def evidence(
    of: str, finding: str, *, seen: str = "null", body: str = BODY, about: str = "null"
) -> str:
    """The SQL that files evidence of an effect, which moves nothing."""
    fields = {"body": body, "finding": f"'{finding}'", "object_id": seen, "about": about}
    return step(of, hand=hand("lookup", "reconciler", **fields))


def seen(of: str, finding: str = "exact") -> str:
    """The same as a worker, before an attack."""
    return AS_WORKER.format(evidence(of, finding, seen="'obj-seen'"))


EXPIRED = "reject_kind = 'not_dispatched', completed_at = now()"
HAPPENED = Lines("refuse_unproven", "and has_happened(o, null) then", "and false then")
TOO_EARLY = Lines("refuse_unproven", "and now() < o.dispatch_until then", "and false then")
CALLED_OFF = Lines(
    "refuse_unproven", "if n.state = 3 and o.state = 1 and", "if false and o.state = 1 and"
)
CAUSE = "cause = 'late_evidence'"
TIME_OVER = PAST_TRIGGERS.format(
    "update effect set dispatch_until = now() where effect_id = %(retried)s"
)

WAITING = (
    Attack(
        "T3", "given up before its time to be sent is over", WORKER,
        move("prepared", 5, hand("not_dispatched", "worker"), also=EXPIRED),
        "it may still be sent", guards=(TOO_EARLY,)),
    Attack(
        "T3", "given up although an earlier sending was found", WORKER,
        move("retried", 5, hand("not_dispatched", "worker"), also=EXPIRED),
        "AS409 .*happened_meanwhile", before=f"{TIME_OVER}; {seen('retried')}",
        guards=(HAPPENED,)),
    *(
        Attack(
            "T2", f"sent again although an earlier sending is {found}", WORKER,
            step("retried", **CLAIM), "AS409 .*happened_meanwhile",
            before=seen("retried", found), guards=(HAPPENED,))
        for found in ("exact", "likely", "differs", "several", "pending", "reversed")
    ),
    Attack(
        "T7", "put back although it was found meanwhile", WORKER,
        move("dispatched", 1, answered()), "AS409 .*happened_meanwhile",
        before=seen("dispatched"), guards=(HAPPENED,)),
    Attack(
        "T6", "rejected on an answer although it was found meanwhile", WORKER,
        move("dispatched", 5, REFUSED, also=DECLINED), "AS409 .*happened_meanwhile",
        before=seen("dispatched"), guards=(HAPPENED,)),
    *(
        Attack(
            "T2", f"a waiting effect called off by {words}", WORKER,
            move("retried", 3, hand("lookup", by, body=BODY, finding=found), also=CAUSE),
            "only evidence of an effect", guards=(CALLED_OFF,))
        for by, found, words in (
            ("worker", "null", "nothing"), ("reconciler", "'absent'", "an absence"),
            ("worker", "'failed_object'", "a refusal"))
    ),
    Attack(
        "T2", "a waiting effect called off by the reaper", WORKER,
        move("retried", 3, hand("lookup", "reaper", body=BODY, finding="'exact'"), also=CAUSE),
        "legal_edge", guards=(Guard("entry", "legal_edge"),)),
)  # fmt: skip

SENT_TWICE = PAST_TRIGGERS.format("update effect set attempts = 2 where effect_id = %(unknown)s")
NOTHING_SAID = (
    "select finding is null and exists (select from effect_open o where o.effect_id = n.effect_id"
    " and o.finding is null) from entry n join effect e using (tenant_id, effect_id)"
    " where effect_id = %(unknown)s and n.no = e.version"
)
EARLIER = tuple(
    Attack(
        "T15", f"{finding} of an earlier sending counts for this one", WORKER,
        evidence("unknown", finding, about="1"), before=SENT_TWICE, holds=NOTHING_SAID,
        guards=(Lines("file_entry", "if h.about < old.attempts and", "if false and"),))
    for finding in ("absent", "absent_inconclusive", "failed_object")
)  # fmt: skip


def against_automation(name: str, sql: str, filed: str, of_object: str) -> Attack:
    """Automation settles on what its policy, lookup and finding allow, against other evidence."""
    before = f"{AS_WORKER.format(lookup('null'))}; {switched_on('1000000')}; {filed}"
    guard = Lines("may_settle_itself", f"and not has_happened(e, {of_object})", "")
    refusal = "automation settles nothing here"
    return Attack("T11", name, WORKER, sql, refusal, guards=(guard,), before=before)


REJECTING = move("unknown", 5, FAILED, also="reject_kind = 'provider_declined'")
AUTOMATION = (
    against_automation(
        "confirmed by itself beside another object", CONFIRMING, seen("unknown"), "h.object_id"),
    against_automation(
        "confirmed by itself on an object that differed", CONFIRMING,
        AS_WORKER.format(evidence("unknown", "differs", seen="'obj-forged'")), "h.object_id"),
    against_automation(
        "confirmed by itself on an object that was undone", CONFIRMING,
        AS_WORKER.format(evidence("unknown", "reversed", seen="'obj-forged'")), "h.object_id"),
    against_automation(
        "rejected by itself although it was seen", REJECTING, seen("unknown", "pending"), "null"),
)  # fmt: skip

LATE_REFUSAL = evidence(
    "unknown", "failed_object", body="""'{"outcome":"Declined","code":"card_declined"}'::bytea"""
)
ON_REFUSAL = proposal(
    "unknown", action="'reject'", version="%(unknown_version)s + 3",
    evidence="array[%(unknown_version)s + 1]",
)  # fmt: skip
DECISIONS = (
    applying(
        "T13", "rejected on a late refusal although it was seen", "AS422 .*does_not_carry",
        Lines("refuse_unfounded", "in ('absent', 'absent_inconclusive') and not happened)",
              "in ('absent', 'absent_inconclusive'))"),
        found=AS_WORKER.format("; ".join((
            LATE_REFUSAL, evidence("unknown", "pending"), evidence("unknown", "absent")))),
        proposed=ON_REFUSAL),
    applying(
        "T14", "alone on one of two objects", "AS403 .*second_person_needed",
        Lines("refuse_unfounded", "if speaks_of_another(e, r.receipt_id) then", "if false then"),
        proposed=proposal("another")),
    applying(
        "T13", "rejected on a failed object beside one that is there", "AS422 .*does_not_carry",
        Lines("refuse_unfounded", "and not speaks_of_another(e, newest.object_id)", ""),
        found=AS_WORKER.format("; ".join((
            evidence("unknown", "pending", seen="'obj-seen'"),
            evidence("unknown", "failed_object", seen="'obj-failed'")))),
        proposed=proposal("unknown", action="'reject'", version="%(unknown_version)s + 2",
                          evidence="array[%(unknown_version)s + 2]")),
    applying(
        "T15", "sent again although the provider refused it", "AS422 .*does_not_carry",
        Lines("refuse_unfounded", "and n.finding = 'failed_object' and n.at", "and false and n.at"),
        found=AS_WORKER.format("; ".join((LATE_REFUSAL, evidence("unknown", "absent")))),
        proposed=proposal("unknown", action="'redispatch'", version="%(unknown_version)s + 2",
                          evidence="array[%(unknown_version)s + 2]")),
)  # fmt: skip

RECORDS = tuple(
    Attack(
        "D26", "a record in another tenant", (by,),
        "insert into record (tenant_id, record_id, kind, body)"
        " values (%(other)s, gen_random_uuid(), 'x', '{}')", "row-level security",
        guards=(Guard("record", "own_tenant"),))
    for by in ("web", "workflow", "auth")
)  # fmt: skip

ATTACKS = (*WAITING, *EARLIER, *AUTOMATION, *DECISIONS, *RECORDS)
