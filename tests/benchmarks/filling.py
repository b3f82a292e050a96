"""Fifty thousand effects written past the triggers: what they would have left, in seconds."""

import json
from dataclasses import dataclass
from typing import Any

from django.db import connection

from ledger.rules.contract import LookFailure, Standing
from tests.builders import Home, guards_aside, home, look, unknown

EFFECTS, OPEN = 40_000, 4_000  # of the large tenant; the small one has a quarter of both


@dataclass(frozen=True, slots=True)
class Filled:
    """The two tenants of the big database; `large` has four fifths of everything."""

    large: Home
    small: Home


def fill() -> Filled:
    """Write both tenants and let the server gather its statistics."""
    filled, bodies = Filled(home(), home()), json.dumps(_bodies())
    for at, share in ((filled.large, 1), (filled.small, 4)):
        with guards_aside() as cursor:
            for statement in STATEMENTS:
                cursor.execute(
                    statement,
                    {
                        "tenant": at.tenant_id,
                        "effects": EFFECTS // share,
                        "open": OPEN // share,
                        "bodies": bodies,
                    },
                )
    connection.cursor().execute("vacuum analyze")
    return filled


# Ids in the order of time, as the client makes them; states spread evenly over that time.
NUMBERED = """
  create temporary table if not exists numbered (n int, id uuid, made timestamptz, state smallint);
  truncate numbered;
  insert into numbered select n,
    (lpad(to_hex(n + 26214400), 8, '0') || substr(md5(%(tenant)s || n::text), 9))::uuid,
    now() - interval '20 days' + n * interval '40 s',
    case when n %% (%(effects)s / %(open)s) = 0 then 3 when n %% 10 = 7 then 5 else 4 end
  from generate_series(1, %(effects)s) n"""

EFFECT = """
  insert into effect (tenant_id, effect_id, intent_key, request_digest, digest_version,
    amount_minor, currency, exponent, workflow_id, step_id, object_type, object_ref,
    recipient_token, recipient_label, provider, operation, contract_version, account, environment,
    provider_key, exclusive, key_window_seconds, lease_seconds, created_at, state, version, fence,
    head, attempts, first_attempt_at, last_attempt_at, dispatch_until, key_until, cause,
    provider_result_id, response_digest, completed_at, reject_kind, declined_code)
  select %(tenant)s, id, 'invoice:n-' || n || ':pay:v1', sha256(id::text::bytea), 1,
    (n * 7919) %% 90000 + 1, 'EUR', 2, 'order-' || n, 'pay', 'invoice', 'n-' || n,
    'token-' || n %% 500, 'IBAN ending ' || n %% 9000 + 1000, 'testbank', 'pay', '1', 'main',
    'test', gen_random_uuid(), true, 86400, 8, made, state, 4, 2, sha256('head'), 1, made, made,
    made + interval '15 min', made + interval '1 day', case state when 3 then 'timeout' end,
    case state when 4 then 'obj-' || id end, case state when 4 then sha256('a') end,
    case when state > 3 then made + interval '2 s' end,
    case state when 5 then 'provider_declined' end, case state when 5 then 'card_declined' end
  from numbered order by n"""

ENTRY = """
  insert into entry select %(tenant)s, id, no, kind, source, target, actor, login, null,
    made + no * interval '1 s', null, case when no = 4 then found end,
    case when no = 4 then 'obj-' || id end, sha256('proof'), sha256('hash')
  from numbered, lateral (values
    (1, 'prepared', 0, 1, 'workflow', 'ascertain_workflow'),
    (2, 'sent', 1, 2, 'worker', 'ascertain_worker'),
    (3, 'given_up', 2, state, 'worker', 'ascertain_worker'),
    (4, 'lookup', state, state, 'reconciler', 'ascertain_worker'))
    as e (no, kind, source, target, actor, login), lateral (select (array[
      'exact', 'exact', 'absent', 'absent_inconclusive', 'absent_inconclusive', 'differs',
      'several', 'failing', 'pending', 'failed_object'])[n / 10 %% 10 + 1] as found) f
  where no < 4 or state = 3 order by n, no"""

PAYLOAD = """
  insert into payload select tenant_id, effect_id, no, sha256('salt'),
    convert_to(%(bodies)s::jsonb ->> coalesce(finding, kind), 'UTF8')
  from entry where tenant_id = %(tenant)s and no <> 2"""

OPEN_ROWS = """
  insert into effect_open (tenant_id, effect_id, state, priority, key_until, rank_minor, rank_until,
    due_at, since, created_at, counts_from, finding, cause, last_no, looks, intent_key, operation,
    provider, account, environment, recipient_label, object_type, object_ref, amount_minor,
    currency, exclusive, workflow_id, first_attempt_at, escalated_at, escalated_to)
  select tenant_id, effect_id, 3, 1 + (row_number() over (order by effect_id)) %% 4,
    e.key_until + interval '20 days' * ((amount_minor %% 97) / 97.0), -amount_minor, null,
    now() + interval '1 day', created_at, created_at, created_at + interval '1 min', finding,
    'timeout', 4, 1, intent_key, operation, provider, account, environment, recipient_label,
    object_type, object_ref, amount_minor, currency, true, workflow_id, first_attempt_at,
    case when amount_minor %% 20 = 0 then created_at end,
    case when amount_minor %% 20 = 0 then 'Payments' end
  from effect e join (select effect_id as id, finding from entry where tenant_id = %(tenant)s
    and no = 4) f on f.id = e.effect_id where tenant_id = %(tenant)s and state = 3
  order by created_at"""

REF = """
  insert into effect_ref select tenant_id, 'obj-' || effect_id, kind, effect_id, provider, account
  from effect, lateral (values ('receipt'), ('object')) k (kind)
  where tenant_id = %(tenant)s and state = 4 order by effect_id"""

LOOKUP = """
  insert into lookup (tenant_id, lookup_id, effect_id, asked_at, started_at, finished_at, entry_no)
  select tenant_id, gen_random_uuid(), effect_id, at, at, at, no from entry
  where tenant_id = %(tenant)s and no = 4"""

RESOLUTION = """
  insert into resolution (tenant_id, resolution_id, effect_id, command_id, action, version,
    from_state, to_state, operation, amount_minor, currency, receipt_id, evidence, evidence_digest,
    reason_code, words, person_id, account_id, policy_version, people_required, digest, proposed_at,
    expires_at)
  select tenant_id, gen_random_uuid(), effect_id, gen_random_uuid(), 'accept', 3, 3, 4, operation,
    amount_minor, currency, provider_result_id, array[3], sha256('e'), 'found_by_key', '',
    gen_random_uuid(), gen_random_uuid(), 1, 1, sha256('d'), created_at, created_at
  from effect where tenant_id = %(tenant)s and state = 4"""

STATEMENTS = (NUMBERED, EFFECT, ENTRY, PAYLOAD, OPEN_ROWS, REF, LOOKUP, RESOLUTION)


def _bodies() -> dict[str, str]:
    """A real body for each kind of entry and each finding, as the verbs write them."""
    at, found = home(), {}
    for objects, fields in LOOKS:
        effect_id = unknown(at)
        look(at, effect_id, *objects, **fields)
        with connection.cursor() as cursor:
            cursor.execute(
                "select coalesce(e.finding, e.kind), convert_from(p.body, 'UTF8') from entry e"
                " join payload p using (tenant_id, effect_id, no) where effect_id = %s",
                (effect_id,),
            )
            found |= dict(cursor.fetchall())
    return found


LOOKS: tuple[tuple[list[dict[str, Any]], dict[str, Any]], ...] = (
    ([{}], {}),
    ([], {}),
    ([], {"exhausted": False}),
    ([{"amount_minor": 1}], {}),
    ([{}, {}], {}),
    ([{"standing": Standing.PENDING}], {}),
    ([{"standing": Standing.FAILED_NO_EFFECT}], {}),
    ([], {"failure": LookFailure.UNREACHABLE}),
)
