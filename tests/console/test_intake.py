"""`manage.py intake`: anybody's stuck rows become unknown effects, each once, none lost."""

import io
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.core.management import CommandError, call_command

from console import tasks
from console.demo import strangers
from console.demo.sandbox import Sandbox
from console.intake.source import BadFile, read
from ledger import clock, dispatch, facts, lookups
from ledger.models import Tenant
from ledger.rules.digest import digest
from tests.builders import home, one_row
from tests.crowd import all_at_once
from tests.logins import login
from tests.servers import ROOT

pytestmark = pytest.mark.django_db

HEADER = "payment_id,type,amount,currency,customer,sent_at,idempotency_key"
FIVE = (
    "{0}1,charge,129.00,EUR,cus_1,2026-11-01T10:00:00Z,key-1",
    '{0}2,payout,"12,000.00",EUR,sup_2,2026-11-01 10:00:05,key-2',
    "{0}3,refund,49.90,GBP,cus_3,2026-11-01T10:00:09+01:00,",
    "{0}4,loan,500,USD,bor_4,,",
    "{0}5,email,,,a@example.com,1793527200,",
)


class Desk:
    """One tenant, one file, and what the command says about it."""

    def __init__(self, folder: Path) -> None:
        self.tenant_id = home().tenant_id
        self.slug = Tenant.objects.get(id=self.tenant_id).slug
        self.file = folder / "stuck.csv"
        self.prefix = f"r{uuid4().hex[:8]}-"

    def write(self, *lines: str, header: str = HEADER, encoding: str = "utf-8") -> Path:
        """The file with this header and these lines; {0} is the test's own id prefix."""
        text = "\n".join([header, *(line.format(self.prefix) for line in lines)]) + "\n"
        self.file.write_bytes(text.encode(encoding))
        return self.file

    def take(self, *words: str, fails: str = "", path: Path | None = None) -> str:
        """Run the command as the worker; what it printed. `fails` is in the words of its error."""
        out = io.StringIO()
        arguments = ["intake", str(path or self.file), "--tenant", self.slug, *words]
        with login("worker"):
            if not fails:
                call_command(*arguments, stdout=out)
                return out.getvalue()
            with pytest.raises(CommandError) as refused:
                call_command(*arguments, stdout=out)
        assert fails in str(refused.value)
        return out.getvalue()

    def effects(self) -> list[dict[str, Any]]:
        """The tenant's effects, oldest first."""
        ids = "select array_agg(effect_id order by effect_id) from effect where tenant_id = %s"
        found = one_row(ids, self.tenant_id)["array_agg"] or []
        return [one_row("select * from effect where effect_id = %s", one) for one in found]

    def case(self, effect_id: UUID) -> facts.Case:
        """The case as the console reads it."""
        return facts.case(self.tenant_id, effect_id, now=clock.now())


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A desk with a tenant of its own."""
    return Desk(tmp_path)


def test_five_lines_become_five_unknown_effects_with_their_line_as_evidence(desk: Desk) -> None:
    desk.write(*FIVE)
    said = desk.take()
    effects = desk.effects()
    assert "5 taken in, 0 already there, 0 refused." in said
    assert [effect["state"] for effect in effects] == [3] * 5
    assert {effect["cause"] for effect in effects} == {"taken_in"}
    assert [effect["amount_minor"] for effect in effects] == [
        129_00, 12_000_00, 49_90, 500_00, None,
    ]  # fmt: skip
    first = desk.case(effects[0]["effect_id"])
    assert (first.entries[0].kind, first.entries[0].actor) == ("taken_in", "intake")
    assert first.request == {
        "source": "stuck.csv",
        "file_digest": digest(desk.file.read_bytes()).hex(),
        "line": 2,
        "row": dict(zip(HEADER.split(","), FIVE[0].format(desk.prefix).split(","), strict=True)),
    }
    assert effects[0]["intent_key"] == f"payment:{desk.prefix}1:intake:v1"


def test_times_are_read_with_their_zone_and_may_be_unknown(desk: Desk) -> None:
    desk.write(*FIVE)
    desk.take()
    sent = [effect["first_attempt_at"] for effect in desk.effects()]
    shown = [moment.isoformat() if moment else None for moment in sent]
    assert shown == [
        "2026-11-01T10:00:00+00:00",
        "2026-11-01T10:00:05+00:00",
        "2026-11-01T09:00:09+00:00",
        None,
        "2026-11-01T10:00:00+00:00",
    ]


def test_nothing_taken_in_is_ever_sent(desk: Desk) -> None:
    desk.write(*FIVE)
    desk.take()
    with login("worker"):
        for effect in desk.effects():
            claimed = dispatch.claim(desk.tenant_id, effect["effect_id"], worker="w1")
            assert claimed is None


def test_a_dry_run_says_the_same_and_writes_nothing(desk: Desk) -> None:
    desk.write(*FIVE)
    said = desk.take("--dry-run")
    assert said.count("would be taken in") == 5
    assert "Dry run, nothing was written: 5 taken in" in said
    assert desk.effects() == []
    assert not one_row("select 1 from record where tenant_id = %s", desk.tenant_id)


def test_the_same_file_again_takes_nothing_in(desk: Desk) -> None:
    desk.write(*FIVE)
    desk.take()
    said = desk.take()
    assert "0 taken in, 5 already there, 0 refused." in said
    assert said.count("already there: eff_") == 5
    assert len(desk.effects()) == 5


def test_the_same_row_in_another_export_is_already_there(desk: Desk) -> None:
    desk.write(*FIVE[:2])
    desk.take()
    desk.write(FIVE[2], FIVE[1], FIVE[0])
    assert "1 taken in, 2 already there, 0 refused." in desk.take()


def test_another_row_for_the_same_id_is_refused_with_the_difference(desk: Desk) -> None:
    desk.write(*FIVE)
    desk.take()
    desk.write(FIVE[0].replace("129.00", "130.00"), FIVE[1])
    said = desk.take(fails="Correct the refused lines")
    assert "amount is '129.00' there, '130.00' here" in said
    assert "0 taken in, 1 already there, 1 refused." in said
    assert desk.effects()[0]["amount_minor"] == 129_00


def test_within_one_file_an_id_counts_once(desk: Desk) -> None:
    changed = FIVE[0].replace("129.00", "131.00")
    desk.write(FIVE[0], FIVE[0], changed)
    for words in (("--dry-run",), ()):
        said = desk.take(*words, fails="Correct the refused lines")
        assert "already there: the same as line 2" in said
        assert "line 2 has the same id with other content" in said
    assert len(desk.effects()) == 1


def test_of_many_runs_at_once_one_takes_the_line_in(desk: Desk) -> None:
    path = desk.write(FIVE[0])
    arguments = ["intake", str(path), "--tenant", desk.slug]

    def run(_: int) -> str:
        out = io.StringIO()
        call_command(*arguments, stdout=out)
        return out.getvalue()

    answers = all_at_once(6, run, as_login="worker")
    assert not answers.errors
    assert sum("1 taken in" in said for said in answers.values) == 1
    assert len(desk.effects()) == 1


def test_bad_lines_are_reported_and_the_others_go_on(desk: Desk) -> None:
    bad = {
        "{0}a,charge,12;40,EUR,cus_1,,": "amount: This is not an amount in EUR",
        "{0}b,charge,1.234,EUR,cus_1,,": "amount: 1.234 can be read two ways",
        "{0}c,charge,-5.00,EUR,cus_1,,": "without a sign",
        "{0}d,charge,,EUR,cus_1,,": "it has no amount",
        "{0}e,charge,5.00,,cus_1,,": "it names no currency",
        "{0}f,charge,5.00,QQQ,cus_1,,": "is not a currency code",
        "{0}g,barter,5.00,EUR,cus_1,,": "'barter' is no operation",
        ",charge,5.00,EUR,cus_1,,": "it has no id",
        "{0}h,charge,5.00,EUR,cus_1,yesterday,": "'yesterday' is no time",
        "{0}i,charge,5.00,EUR,cus_1,2026-11-01,": "is a day",
        "{0}j,charge,5.00,EUR,cus_1,2999-01-01T00:00:00Z,": "which cannot be",
        "{0}k,charge,5.00,EUR": "it has 4 cells, the header has 7",
        "retry2,charge,5.00,EUR,cus_1,,": "names an attempt",
    }
    desk.write(FIVE[0], *bad, FIVE[1])
    said = desk.take(fails="Correct the refused lines")
    lines = said.splitlines()
    assert "2 taken in, 0 already there, 13 refused." in said
    for no, words in enumerate(bad.values(), start=3):
        (line,) = [one for one in lines if one.startswith(f"line {no} ")]
        assert "refused: " in line
        assert words in line
    assert len(desk.effects()) == 2


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "The file is empty"),
        (b"\n\n", "The file is empty"),
        (b"id,amount\n", "no line below it"),
        (b"id,amount\nx,\xff\xfe\n", "not in UTF-8: line 2"),
        ("id,amount\nx,1\n".encode("utf-16"), "UTF-16"),
        (b"id,amount\nx,1\0\n", "line 2 holds a NUL"),
        (b'id,amount\n"x,1\ny,2\n', "begins on line 2 is broken"),
        (b"id,amount,id\nx,1,y\n", "'id' stands twice"),
        (b"id,,amount\nx,1,2\n", "a name is empty"),
        (b"when,what\n1,2\n", "No column names the row"),
    ],
)
def test_a_broken_file_is_refused_whole(desk: Desk, raw: bytes, words: str) -> None:
    desk.file.write_bytes(raw)
    desk.take(fails=words)
    desk.take(fails="Nothing was taken in.")
    assert desk.effects() == []


def test_a_file_that_is_not_there_is_said_to_be_so(desk: Desk) -> None:
    desk.take(fails="cannot be read: No such file", path=desk.file.with_name("other.csv"))


@pytest.mark.parametrize(
    ("header", "line", "encoding"),
    [
        ("Reference;Total;Currency;Customer ID", "{0}1;1.249,00;EUR;cus_1", "utf-8"),
        ("ref\tAmount\tCCY\trecipient", "{0}1\t1249.00\tEUR\tcus_1", "utf-8-sig"),
        ("order id|value|currency|payee", "{0}1|1 249,00|EUR|cus_1", "utf-8"),
        ("id,amount_cents,currency,customer", "{0}1,124900,EUR,cus_1", "utf-8-sig"),
    ],
)
def test_strangers_write_their_files_in_their_own_way(
    desk: Desk, header: str, line: str, encoding: str
) -> None:
    desk.write(line, header=header, encoding=encoding)
    desk.take("--operation", "charge")
    (effect,) = desk.effects()
    assert (effect["amount_minor"], effect["recipient_token"]) == (1_249_00, "cus_1")


def test_a_column_the_guess_misses_is_named_by_hand(desk: Desk) -> None:
    desk.write("{0}1,9.50,EUR", header="nummer,betrag,currency")
    words = ("--operation", "payout", "--map", "id=nummer", "amount=betrag")
    desk.take(*words)
    assert desk.effects()[0]["amount_minor"] == 9_50
    desk.take("--map", "id=nr", fails="the file has no column 'nr'")
    desk.take("--map", "name=nummer", fails="'name' is no field")
    desk.take("--map", "id", fails="--map takes OUR=THEIRS")


def test_a_record_over_several_lines_is_numbered_by_its_first(desk: Desk) -> None:
    lines = ('{0}1,5.00,EUR,"two\nlines"', "{0}2,6.00,EUR,one")
    desk.write(*lines, header="id,amount,currency,remark")
    said = desk.take("--operation", "charge")
    assert [line.split()[1] for line in said.splitlines() if line.startswith("line")] == ["2", "4"]


def test_what_is_a_persons_own_is_masked_and_cards_are_cut_out(desk: Desk) -> None:
    people = ("maria@example.com", "Maria", "DE89370400440532013000", "4242424242424242", "cus_9")
    lines = [f"{{0}}{no},5.00,EUR,{name}" for no, name in enumerate(people)]
    desk.write(*lines, header="id,amount,currency,customer")
    desk.take("--operation", "charge")
    effects = desk.effects()
    assert [effect["recipient_token"] for effect in effects] == [None] * 4 + ["cus_9"]
    assert [effect["recipient_label"] for effect in effects] == [
        "m…@example.com",
        "Recipient M…",
        "Recipient ending 3000",
        "Recipient ending 4242",
        "Recipient cus_9",
    ]
    bodies = "select body from payload where effect_id = %s and no = 1"
    stored = [bytes(one_row(bodies, one["effect_id"])["body"]).decode() for one in effects]
    assert not any("4242424242424242" in body for body in stored)


def test_a_file_that_was_taken_in_is_on_record(desk: Desk) -> None:
    desk.write(*FIVE)
    desk.take()
    kept = one_row("select * from record where tenant_id = %s", desk.tenant_id)
    assert (kept["kind"], kept["login"]) == ("intake", "ascertain_worker")
    assert kept["object_id"] == digest(desk.file.read_bytes()).hex()


def test_an_unknown_tenant_is_refused(desk: Desk) -> None:
    desk.write(*FIVE)
    desk.slug = "nobody"
    desk.take(fails="There is no tenant nobody")


# --- what a lookup finds ---


def look(desk: Desk, effect_id: UUID) -> str:
    """A scheduled look at the effect, carried out by the worker's own task; its finding."""
    with login("worker"):
        ticket = lookups.request(desk.tenant_id, effect_id, by=None)
        tasks.look(str(desk.tenant_id), str(ticket.lookup_id))
    return str(desk.case(effect_id).earlier[-1].code)


def test_the_example_file_finds_its_objects(desk: Desk, prompt_sandbox: Sandbox) -> None:
    strangers.play(strangers.known(), sandbox=prompt_sandbox)
    desk.take(path=ROOT / "docs" / "examples" / "stuck.csv")
    found = [look(desk, effect["effect_id"]) for effect in desk.effects()]
    assert found == ["exact", "exact", "exact", "failed_object", "exact"]
    assert {effect["state"] for effect in desk.effects()} == {3}


def test_the_example_file_holds_the_rows_that_the_sandbox_knows() -> None:
    text = (ROOT / "docs" / "examples" / "stuck.csv").read_text()
    assert text == strangers.export(strangers.known(), sent_at=None)
    source = read(ROOT / "docs" / "examples" / "stuck.csv")
    assert len(source.lines) == 5


def test_a_row_without_any_tie_proves_nothing_either_way(
    desk: Desk, prompt_sandbox: Sandbox
) -> None:
    header = "id,amount,currency,customer,sent_at"
    desk.write("{0}1,5.00,EUR,cus_none,2026-11-01T10:00:00Z", header=header)
    desk.take("--operation", "charge")
    (effect,) = desk.effects()
    assert look(desk, effect["effect_id"]) == "absent_inconclusive"


def test_a_key_that_only_we_made_up_is_never_asked_for(desk: Desk, prompt_sandbox: Sandbox) -> None:
    desk.write("{0}1,5.00,EUR,cus_none,", header="id,amount,currency,customer,idempotency_key")
    desk.take("--operation", "charge")
    (effect,) = desk.effects()
    look(desk, effect["effect_id"])
    routes = [finding.route for finding in desk.case(effect["effect_id"]).earlier]
    assert routes == ["by_attributes"]


def test_an_unreadable_file_type_is_refused() -> None:
    with pytest.raises(BadFile, match="cannot be read"):
        read(ROOT / "docs")
