"""Orders and their steps: the example's own rows, which the ledger knows nothing of."""

from typing import ClassVar
from uuid import uuid4

from django.db import models


class Order(models.Model):
    """One run of a flow. `state` is running, waiting (for an effect), completed or failed.

    `place` counts the steps behind it. `completions` is 1 at its end; anything above would mean
    that an ending was heard twice. `code` and `may_follow` say why it failed and what may follow.
    """

    id = models.UUIDField(primary_key=True, default=uuid4)
    tenant_id = models.UUIDField()
    ref = models.TextField()
    flow = models.TextField()
    object_ref = models.TextField()
    amount_minor = models.BigIntegerField(null=True)
    currency = models.TextField(null=True)
    payee_token = models.TextField(null=True)
    payee_label = models.TextField(null=True)
    contact_token = models.TextField(null=True)
    contact_label = models.TextField(null=True)
    account = models.TextField()
    state = models.TextField(default="running")
    place = models.SmallIntegerField(default=0)
    completions = models.SmallIntegerField(default=0)
    code = models.TextField(null=True)
    may_follow = models.TextField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        default_permissions = ()
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["tenant_id", "ref"], name="one_order_per_ref"),
            models.CheckConstraint(
                condition=models.Q(state__in=["running", "waiting", "completed", "failed"]),
                name="order_state_is_known",
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(
                fields=["tenant_id", "created_at"],
                condition=models.Q(state__in=["running", "waiting"]),
                name="order_under_way",
            )
        ]

    def __str__(self) -> str:
        return self.ref


class Step(models.Model):
    """One step of an order: how often it ran, and the effect it waits for or ended with."""

    id = models.UUIDField(primary_key=True, default=uuid4)
    order = models.ForeignKey(Order, on_delete=models.PROTECT, related_name="steps")
    name = models.TextField()
    runs = models.SmallIntegerField(default=0)
    effect_id = models.UUIDField(null=True)
    intent_key = models.TextField(null=True)
    receipt = models.TextField(null=True)
    refused = models.TextField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        default_permissions = ()
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["order", "name"], name="one_row_per_step")
        ]

    def __str__(self) -> str:
        return self.name
