"""The preview beside the list: what is proven, what is not, what comes next."""

from typing import Any

from django.urls import reverse

from console import formats as f
from console.formats import Formats
from console.pages import casehead, evidence, looking
from console.people import Seat
from console.queries.asking import Asked
from ledger import facts
from ledger.errors import NotFound
from ledger.ids import screen_id
from ledger.rules.next_step import next_step
from ledger.rules.standing import standing

LATEST = 4


def of(seat: Seat, *, asked: Asked, formats: Formats) -> dict[str, Any] | None:
    """The chosen effect in short; None where this tenant has no such effect."""
    if asked.chosen is None:
        return None
    try:
        case = facts.case(seat.tenant_id, asked.chosen, now=formats.now)
    except NotFound:
        return None
    stands, step = standing(case.facts), next_step(case.facts)
    items = evidence.of(case, people={}, formats=formats, oldest_first=False)
    return {
        "head": casehead.of(case, seat=seat, formats=formats),
        "url": reverse("case", args=[seat.slug, screen_id(case.effect_id)]),
        "proven": [_line(line, formats) for line in stands.proven],
        "not_known": [_line(line, formats) for line in stands.not_known],
        "next": {"rule": step.rule, "words": formats.say(step.words), "why": formats.say(step.why)},
        "latest": [item for item in items if not item.mark][:LATEST],
        "workflow": f.cut(case.effect.workflow_id, longest=30),
        "object": f.cut(case.effect.object_ref, longest=30),
        "look": looking.button(case, seat=seat),
        "looking": looking.under_way(case, seat=seat, formats=formats),
    }


def _line(line: Any, formats: Formats) -> dict[str, str]:
    return {"words": formats.say(line.words), "source": formats.say(line.source)}
