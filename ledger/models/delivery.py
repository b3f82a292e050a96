"""Resumptions: the news to a workflow that one of its effects has ended."""

from django.db import models


class Resumption(models.Model):
    """Written in the terminal step's own transaction, acknowledged once."""

    pk = models.CompositePrimaryKey("tenant_id", "effect_id", "no")
    tenant_id = models.UUIDField()
    effect_id = models.UUIDField()
    no = models.IntegerField()
    workflow_id = models.TextField()
    step_id = models.TextField(null=True)
    state = models.SmallIntegerField()
    created_at = models.DateTimeField()
    acknowledged_at = models.DateTimeField(null=True)

    class Meta:
        managed = False
        db_table = "resumption"
