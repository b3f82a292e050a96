"""Resolutions, their applications, escalations, and the policy that sets the tiers."""

from django.contrib.postgres.fields import ArrayField
from django.db import models


class Resolution(models.Model):
    """A decision with its proof and reason; what sets the bar is derived by PostgreSQL."""

    pk = models.CompositePrimaryKey("tenant_id", "resolution_id")
    tenant_id = models.UUIDField()
    resolution_id = models.UUIDField()
    effect_id = models.UUIDField()
    command_id = models.UUIDField()
    action = models.TextField()
    version = models.IntegerField()
    from_state = models.SmallIntegerField()
    to_state = models.SmallIntegerField()
    operation = models.TextField()
    amount_minor = models.BigIntegerField(null=True)
    currency = models.TextField()
    receipt_id = models.TextField(null=True)
    evidence = ArrayField(models.IntegerField())
    evidence_digest = models.BinaryField()
    reason_code = models.TextField()
    words = models.TextField()
    person_id = models.UUIDField()
    account_id = models.UUIDField()
    policy_version = models.IntegerField()
    people_required = models.SmallIntegerField()
    digest = models.BinaryField()
    proposed_at = models.DateTimeField()
    expires_at = models.DateTimeField()

    class Meta:
        managed = False
        db_table = "resolution"


class Application(models.Model):
    """The act itself: a resolution that took effect as entry `no` of its effect."""

    pk = models.CompositePrimaryKey("tenant_id", "resolution_id")
    tenant_id = models.UUIDField()
    resolution_id = models.UUIDField()
    effect_id = models.UUIDField()
    version = models.IntegerField()
    no = models.IntegerField()
    from_state = models.SmallIntegerField()
    to_state = models.SmallIntegerField()
    digest = models.BinaryField()
    applied_at = models.DateTimeField()

    class Meta:
        managed = False
        db_table = "application"


class Escalation(models.Model):
    """Somebody named must act on an unknown effect, and when it is looked at next."""

    pk = models.CompositePrimaryKey("tenant_id", "escalation_id")
    tenant_id = models.UUIDField()
    escalation_id = models.UUIDField()
    effect_id = models.UUIDField()
    command_id = models.UUIDField()
    person_id = models.UUIDField(null=True)
    account_id = models.UUIDField(null=True)
    owner = models.TextField()
    reason_code = models.TextField()
    words = models.TextField()
    next_check_at = models.DateTimeField()
    at = models.DateTimeField()

    class Meta:
        managed = False
        db_table = "escalation"


class Policy(models.Model):
    """One version of a tenant's policy; the highest version is in force."""

    pk = models.CompositePrimaryKey("tenant_id", "version")
    tenant_id = models.UUIDField()
    version = models.IntegerField()
    made_by = models.UUIDField(null=True)
    made_at = models.DateTimeField()

    class Meta:
        managed = False
        db_table = "policy"


class PolicyTier(models.Model):
    """From which amount in minor units a decision takes a second and a third person."""

    pk = models.CompositePrimaryKey("tenant_id", "version", "operation", "currency")
    tenant_id = models.UUIDField()
    version = models.IntegerField()
    operation = models.TextField()
    currency = models.TextField()
    second_from = models.BigIntegerField(null=True)
    third_from = models.BigIntegerField(null=True)

    class Meta:
        managed = False
        db_table = "policy_tier"


class PolicyAutoSettle(models.Model):
    """Where a scheduled lookup may settle by itself, up to `ceiling_minor`."""

    pk = models.CompositePrimaryKey("tenant_id", "version", "provider", "operation", "currency")
    tenant_id = models.UUIDField()
    version = models.IntegerField()
    provider = models.TextField()
    operation = models.TextField()
    currency = models.TextField()
    ceiling_minor = models.BigIntegerField(null=True)

    class Meta:
        managed = False
        db_table = "policy_auto_settle"
