"""The operator's part of the demonstration: hands cases to the owners that the scenes name."""

from collections.abc import Callable
from datetime import timedelta

from django.db import transaction

from console.demo.sample import ACCOUNTS
from console.demo.scenes import SCENES, Scene
from ledger import access, clock, resolutions
from ledger.access import Acting
from ledger.ids import new_id
from ledger.models import Account, OpenEffect, Tenant
from ledger.resolutions import Handover
from ledger.rules.states import State

CHECK_AFTER = timedelta(hours=4)


def escalate(say: Callable[[str], object]) -> None:
    """Escalate what the scenes want escalated and nobody has, as an operator by the login web."""
    account = Account.objects.get(username=ACCOUNTS[0].username)
    if account.person_id is None:
        raise LookupError(f"{account} belongs to no person.")
    by = Acting(account.person_id, account.pk, session="")
    for tenant in Tenant.objects.filter(slug__in=SCENES):
        for scene in SCENES[tenant.slug]:
            if scene.escalated_to:
                _hand_over(scene, tenant, by)
                say(f"{scene.ref} was escalated to {scene.escalated_to}.")


@transaction.atomic
def _hand_over(scene: Scene, tenant: Tenant, by: Acting) -> None:
    access.enter(tenant.id)
    found = (
        OpenEffect.objects.filter(
            tenant_id=tenant.id, workflow_id=scene.ref, state=State.UNKNOWN, escalated_at=None
        )
        .values_list("effect_id", "last_no")
        .first()
    )
    if found is None:
        return
    effect_id, version = found
    handover = Handover(
        command_id=new_id(),
        owner=scene.escalated_to,
        reason_code="evidence_unclear",
        words="The provider's support was asked; they answer within the day.",
        next_check_at=clock.now() + CHECK_AFTER,
        version=version,
    )
    resolutions.escalate(tenant.id, effect_id, handover, by=by)
