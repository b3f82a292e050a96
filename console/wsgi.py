"""The web process's entry point."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
os.environ.setdefault("ASCERTAIN_LOGIN", "web")

application = get_wsgi_application()

from console.checks import refuse_unsafe_start  # noqa: E402 - the settings must be loaded first

refuse_unsafe_start()
