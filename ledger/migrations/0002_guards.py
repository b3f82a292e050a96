"""The record's tables, triggers, walls and grants, from the whole SQL files of `ledger/guards`."""

from django.db import migrations

from ledger.guards import scripts


class Migration(migrations.Migration):
    """Loads every guard file in order; the roles exist before the first migration."""

    dependencies = [("ledger", "0001_record"), ("auth", "0012_alter_user_first_name_max_length")]

    operations = [migrations.RunSQL(script) for script in scripts()]
