"""What the deployment itself stores; the record is the ledger's."""

from django.db import models


class Heartbeat(models.Model):
    """When a part of the deployment last proved that it works, end to end."""

    name = models.TextField(primary_key=True)
    at = models.DateTimeField()

    class Meta:
        db_table = "heartbeat"
        default_permissions = ()

    def __str__(self) -> str:
        return self.name
