"""Records: what belongs to no single effect, such as refusals and sign-ins."""

from django.db import models


class Record(models.Model):
    """One fact of the log; ids only, no foreign keys, so that it survives what it tells of."""

    pk = models.CompositePrimaryKey("tenant_id", "record_id")
    tenant_id = models.UUIDField()
    record_id = models.UUIDField()
    kind = models.TextField()
    person_id = models.UUIDField(null=True)
    account_id = models.UUIDField(null=True)
    login = models.TextField()
    object_type = models.TextField(null=True)
    object_id = models.TextField(null=True)
    body = models.TextField()
    at = models.DateTimeField()

    class Meta:
        managed = False
        db_table = "record"
