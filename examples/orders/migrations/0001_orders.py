"""The tables of the example: they belong to the owner and are granted to the login `workflow`."""

import uuid

import django.db.models.deletion
from django.db import migrations, models

GRANTS = "grant select, insert, update on orders_order, orders_step to ascertain_workflow;"
REVOKES = "revoke all on orders_order, orders_step from ascertain_workflow;"


class Migration(migrations.Migration):
    """Makes both tables and their grants."""

    initial = True
    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Order",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, primary_key=True, serialize=False)),
                ("tenant_id", models.UUIDField()),
                ("ref", models.TextField()),
                ("flow", models.TextField()),
                ("object_ref", models.TextField()),
                ("amount_minor", models.BigIntegerField(null=True)),
                ("currency", models.TextField(null=True)),
                ("payee_token", models.TextField(null=True)),
                ("payee_label", models.TextField(null=True)),
                ("contact_token", models.TextField(null=True)),
                ("contact_label", models.TextField(null=True)),
                ("account", models.TextField()),
                ("state", models.TextField(default="running")),
                ("place", models.SmallIntegerField(default=0)),
                ("completions", models.SmallIntegerField(default=0)),
                ("code", models.TextField(null=True)),
                ("may_follow", models.TextField(null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("ended_at", models.DateTimeField(null=True)),
            ],
            options={
                "default_permissions": (),
                "indexes": [
                    models.Index(
                        condition=models.Q(("state__in", ["running", "waiting"])),
                        fields=["tenant_id", "created_at"],
                        name="order_under_way",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("tenant_id", "ref"), name="one_order_per_ref"),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("state__in", ["running", "waiting", "completed", "failed"])
                        ),
                        name="order_state_is_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Step",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, primary_key=True, serialize=False)),
                ("name", models.TextField()),
                ("runs", models.SmallIntegerField(default=0)),
                ("effect_id", models.UUIDField(null=True)),
                ("intent_key", models.TextField(null=True)),
                ("receipt", models.TextField(null=True)),
                ("refused", models.TextField(null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "order",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="steps",
                        to="orders.order",
                    ),
                ),
            ],
            options={
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(fields=("order", "name"), name="one_row_per_step")
                ],
            },
        ),
        migrations.RunSQL(GRANTS, REVOKES),
    ]
