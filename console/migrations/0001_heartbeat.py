"""The heartbeat table, and the grants on tables of packages that signing in uses."""

from django.db import migrations, models

GRANTS = """
grant select, insert, update on heartbeat to ascertain_worker;
grant select on heartbeat to ascertain_web, ascertain_auditor;
grant select on django_migrations to ascertain_web;
grant select, insert, update, delete on django_session to ascertain_auth;
grant select, insert, update on account_emailaddress to ascertain_auth;
"""
REVOKES = """
revoke all on django_migrations from ascertain_web;
revoke all on django_session, account_emailaddress from ascertain_auth;
"""


class Migration(migrations.Migration):
    """Makes the table and its grants."""

    initial = True
    dependencies = [
        ("account", "0009_emailaddress_unique_primary_email"),
        ("sessions", "0001_initial"),
    ]
    operations = [
        migrations.CreateModel(
            name="Heartbeat",
            fields=[
                ("name", models.TextField(primary_key=True, serialize=False)),
                ("at", models.DateTimeField()),
            ],
            options={"db_table": "heartbeat", "default_permissions": ()},
        ),
        migrations.RunSQL(GRANTS, REVOKES),
    ]
