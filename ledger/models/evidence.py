"""Evidence: the numbered, chained entries of an effect, what they rest on, and the lookups."""

from django.db import models


class Entry(models.Model):
    """What happened to an effect at number `no`; written by the database's trigger alone."""

    pk = models.CompositePrimaryKey("tenant_id", "effect_id", "no")
    tenant_id = models.UUIDField()
    effect_id = models.UUIDField()
    no = models.IntegerField()
    kind = models.TextField()
    from_state = models.SmallIntegerField()
    to_state = models.SmallIntegerField()
    actor = models.TextField()
    login = models.TextField()
    resolution_id = models.UUIDField(null=True)
    at = models.DateTimeField()
    note = models.TextField(null=True)
    finding = models.TextField(null=True)
    object_id = models.TextField(null=True)
    proof = models.BinaryField()
    hash = models.BinaryField()

    class Meta:
        managed = False
        db_table = "entry"


class Payload(models.Model):
    """The erasable body behind an entry: canonical JSON bytes and the salt of its digest."""

    pk = models.CompositePrimaryKey("tenant_id", "effect_id", "no")
    tenant_id = models.UUIDField()
    effect_id = models.UUIDField()
    no = models.IntegerField()
    salt = models.BinaryField()
    body = models.BinaryField()

    class Meta:
        managed = False
        db_table = "payload"


class Lookup(models.Model):
    """A question to the provider: asked by a person, or by schedule where `asked_by` is null."""

    pk = models.CompositePrimaryKey("tenant_id", "lookup_id")
    tenant_id = models.UUIDField()
    lookup_id = models.UUIDField()
    effect_id = models.UUIDField()
    asked_by = models.UUIDField(null=True)
    asked_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    entry_no = models.IntegerField(null=True)
    progress = models.TextField(null=True)

    class Meta:
        managed = False
        db_table = "lookup"
