"""Effects: the intent and where it stands, the open ones' queue row, and their references."""

from django.db import models


class Contract(models.Model):
    """One immutable version of a provider's promises for an operation."""

    pk = models.CompositePrimaryKey("provider", "operation", "version")
    provider = models.TextField()
    operation = models.TextField()
    version = models.TextField()
    body = models.TextField()
    digest = models.BinaryField()
    key_window_seconds = models.IntegerField(null=True)
    dispatch_within_seconds = models.IntegerField()
    lease_seconds = models.IntegerField()
    freeze_mode = models.TextField()
    has_amount = models.BooleanField()
    added_at = models.DateTimeField()

    class Meta:
        managed = False
        db_table = "contract"


class Effect(models.Model):
    """One intended external action. `state` and results move only by `ledger.transitions`."""

    pk = models.CompositePrimaryKey("tenant_id", "effect_id")
    tenant_id = models.UUIDField()
    effect_id = models.UUIDField()
    intent_key = models.TextField()
    request_digest = models.BinaryField()
    digest_version = models.SmallIntegerField()
    amount_minor = models.BigIntegerField(null=True)
    currency = models.TextField()
    exponent = models.SmallIntegerField()
    workflow_id = models.TextField(null=True)
    step_id = models.TextField(null=True)
    object_type = models.TextField(null=True)
    object_ref = models.TextField(null=True)
    recipient_token = models.TextField(null=True)
    recipient_label = models.TextField(null=True)
    provider = models.TextField()
    operation = models.TextField()
    contract_version = models.TextField()
    account = models.TextField()
    environment = models.TextField()
    provider_key = models.UUIDField()
    initiator_id = models.UUIDField(null=True)
    compensates_id = models.UUIDField(null=True)
    compensates_object = models.TextField(null=True)
    supersedes_id = models.UUIDField(null=True)
    distinct_because = models.TextField(null=True)
    exclusive = models.BooleanField()
    key_window_seconds = models.IntegerField(null=True)
    lease_seconds = models.IntegerField()
    created_at = models.DateTimeField()
    state = models.SmallIntegerField()
    version = models.IntegerField()
    fence = models.IntegerField()
    head = models.BinaryField()
    attempts = models.SmallIntegerField()
    first_attempt_at = models.DateTimeField(null=True)
    last_attempt_at = models.DateTimeField(null=True)
    dispatch_until = models.DateTimeField()
    lease_until = models.DateTimeField(null=True)
    key_until = models.DateTimeField(null=True)
    cause = models.TextField(null=True)
    server_error = models.BooleanField()
    declined_code = models.TextField(null=True)
    reject_kind = models.TextField(null=True)
    provider_result_id = models.TextField(null=True)
    response_digest = models.BinaryField(null=True)
    completed_at = models.DateTimeField(null=True)
    provider_completed_at = models.DateTimeField(null=True)

    class Meta:
        managed = False
        db_table = "effect"


class OpenEffect(models.Model):
    """The queue row of an effect that is not terminal; kept by the entry trigger."""

    pk = models.CompositePrimaryKey("tenant_id", "effect_id")
    tenant_id = models.UUIDField()
    effect_id = models.UUIDField()
    state = models.SmallIntegerField()
    priority = models.SmallIntegerField()
    key_until = models.DateTimeField()
    rank_minor = models.BigIntegerField()
    rank_until = models.DateTimeField(null=True)
    due_at = models.DateTimeField()
    since = models.DateTimeField()
    created_at = models.DateTimeField()
    counts_from = models.DateTimeField(null=True)
    finding = models.TextField(null=True)
    brief = models.TextField(null=True)
    cause = models.TextField(null=True)
    last_no = models.IntegerField()
    looks = models.SmallIntegerField()
    intent_key = models.TextField()
    operation = models.TextField()
    provider = models.TextField()
    account = models.TextField()
    environment = models.TextField()
    recipient_label = models.TextField(null=True)
    object_type = models.TextField(null=True)
    object_ref = models.TextField(null=True)
    amount_minor = models.BigIntegerField(null=True)
    currency = models.TextField()
    exclusive = models.BooleanField()
    workflow_id = models.TextField(null=True)
    first_attempt_at = models.DateTimeField(null=True)
    claim_by = models.UUIDField(null=True)
    claim_until = models.DateTimeField(null=True)
    snoozed_until = models.DateTimeField(null=True)
    resolution_id = models.UUIDField(null=True)
    escalated_at = models.DateTimeField(null=True)
    escalated_to = models.TextField(null=True)
    next_check_at = models.DateTimeField(null=True)

    class Meta:
        managed = False
        db_table = "effect_open"


class EffectRef(models.Model):
    """A provider's object or request id that leads to an effect; `receipt` proves it."""

    pk = models.CompositePrimaryKey("tenant_id", "ref", "kind", "effect_id")
    tenant_id = models.UUIDField()
    ref = models.TextField()
    kind = models.TextField()
    effect_id = models.UUIDField()
    provider = models.TextField()
    account = models.TextField()

    class Meta:
        managed = False
        db_table = "effect_ref"
