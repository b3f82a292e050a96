"""The settings as they are, read in the environment of the tests and in no other."""

import os
import secrets

for name in [name for name in os.environ if name.startswith("DATABASE_URL")]:
    del os.environ[name]
for name in ("REDIS_URL", "ASCERTAIN_LOGIN", "ASCERTAIN_STATE_DIR", "PORT", "SECRET_KEY_FILE"):
    os.environ.pop(name, None)
os.environ.update(
    SECURE="0",
    ASCERTAIN_SANDBOX="1",
    ASCERTAIN_STATIC="plain",
    SECRET_KEY=secrets.token_urlsafe(50),
)

from console.logins import database_settings  # noqa: E402
from console.settings import *  # noqa: E402, F403
from console.settings import DATABASES  # noqa: E402

# conftest.py fills all of them in once the server runs.
DATABASES["auth"] = database_settings("")
DATABASES["apart"] = database_settings("")
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # tests sign in often
