"""Django's settings: read from the environment, safe unless `up` says SECURE=0."""

import os
from pathlib import Path

from kombu import Queue

from console.broker import broker_url, cache_url
from console.logins import OWNER, database_settings, database_url
from console.logs import logging_settings
from console.state import state_dir

env = os.environ


def words(name: str, default: str = "") -> list[str]:
    """The comma-separated words of an environment variable."""
    return [word.strip() for word in env.get(name, default).split(",") if word.strip()]


def secret_key() -> str:
    """SECRET_KEY, or what the file SECRET_KEY_FILE holds; empty, and so refused, without both."""
    if path := env.get("SECRET_KEY_FILE"):
        return Path(path).read_text().strip()
    return env.get("SECRET_KEY", "")


PRODUCT_NAME = "Ascertain"
ROOT = Path(__file__).resolve().parent.parent
STATE_DIR = state_dir(ROOT)
LOGIN = env.get("ASCERTAIN_LOGIN", OWNER)  # the database login of this process
SECURE = env.get("SECURE", "1") != "0"  # off only under `up`, which speaks plain HTTP to loopback
SANDBOX = env.get("ASCERTAIN_SANDBOX") == "1"  # the provider is the sandbox: demo and tests
SANDBOX_URL = env.get("SANDBOX_URL", "http://127.0.0.1:8009")

DEBUG = False
SECRET_KEY = secret_key()
ALLOWED_HOSTS = words("ALLOWED_HOSTS", "" if SECURE else "127.0.0.1,localhost,[::1]")
CSRF_TRUSTED_ORIGINS = words("CSRF_TRUSTED_ORIGINS")

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "guardian",
    "allauth",
    "allauth.account",
    "django_htmx",
    "ledger",
    "console",
    "examples.orders",
]
MIDDLEWARE = [
    "console.middleware.security_headers",
    "console.middleware.request_id",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "console.middleware.session_limits",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]
ROOT_URLCONF = "console.urls"
APPEND_SLASH = False  # addresses end without one; a wrong one is a 404, not a guess
WSGI_APPLICATION = "console.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [ROOT / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "console.context.product",
            ],
        },
    },
]

# One login, one process. Web also signs people in, by a login of its own that web cannot become.
# A pool only in web: Celery closes a pool after each task.
DATABASES = {
    "default": database_settings(database_url(LOGIN, env), pool_size=6 if LOGIN == "web" else 0)
}
if LOGIN == "web":
    DATABASES["auth"] = database_settings(database_url("auth", env), pool_size=3)
# A refusal is on record although the caller, whose transaction it met, rolls back.
DATABASES["apart"] = database_settings(database_url(LOGIN, env))
DATABASES["default"]["ATOMIC_REQUESTS"] = True
DATABASE_ROUTERS = ["console.routers.AuthRouter"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

USE_TZ, TIME_ZONE = True, "UTC"
USE_I18N, LANGUAGE_CODE = True, "en-gb"

AUTH_USER_MODEL = "ledger.Account"
AUTHENTICATION_BACKENDS = [
    "allauth.account.auth_backends.AuthenticationBackend",
    "guardian.backends.ObjectPermissionBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
]
LOGIN_URL, LOGIN_REDIRECT_URL = "account_login", "/"
ACCOUNT_ADAPTER = "console.signin.ClosedAdapter"
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "email*", "password1*", "password2*"]  # sign-up is closed
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_LOGOUT_REDIRECT_URL = "account_login"
ACCOUNT_SESSION_REMEMBER = False  # the cookie ends with the browser
ACCOUNT_REAUTHENTICATION_TIMEOUT = 300
ACCOUNT_RATE_LIMITS = {"login": "30/m/ip", "login_failed": "10/m/ip,5/300s/key"}
ALLAUTH_TRUSTED_PROXY_COUNT = int(env.get("TRUSTED_PROXY_COUNT", "0"))
EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
GUARDIAN_MONKEY_PATCH_USER = False
ANONYMOUS_USER_NAME = None  # guardian's: nobody is somebody

SESSION_COOKIE_AGE = SESSION_IDLE_SECONDS = 30 * 60
SESSION_RENEW_SECONDS, SESSION_ABSOLUTE_SECONDS = 5 * 60, 12 * 60 * 60
SESSION_COOKIE_NAME = "__Host-session" if SECURE else "session"
CSRF_COOKIE_NAME = "__Host-csrf" if SECURE else "csrf"
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_AGE = None  # it ends with the browser, as the session does
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE

SECURE_SSL_REDIRECT = SECURE
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]
SECURE_HSTS_SECONDS = 365 * 24 * 60 * 60 if SECURE else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = SECURE
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
if ALLAUTH_TRUSTED_PROXY_COUNT:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

# Hashed names need `collectstatic`; tests read the files where they lie.
STATIC_PLAIN = env.get("ASCERTAIN_STATIC") == "plain"
STATIC_URL = "static/"
STATIC_ROOT = None if STATIC_PLAIN else STATE_DIR / "static"
STATICFILES_DIRS = [ROOT / "static"]
WHITENOISE_USE_FINDERS = WHITENOISE_AUTOREFRESH = STATIC_PLAIN
WHITENOISE_KEEP_ONLY_HASHED_FILES = True
PLAIN_STORAGE = "django.contrib.staticfiles.storage.StaticFilesStorage"
HASHED_STORAGE = "whitenoise.storage.CompressedManifestStaticFilesStorage"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"},  # no uploads are kept
    "staticfiles": {"BACKEND": PLAIN_STORAGE if STATIC_PLAIN else HASHED_STORAGE},
}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["rest_framework.authentication.SessionAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
}

REDIS_URL = env.get("REDIS_URL", "")
LOCAL_CACHE = {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
SHARED_CACHE = {"BACKEND": "django.core.cache.backends.redis.RedisCache"}
CACHES = {
    "default": {**SHARED_CACHE, "LOCATION": cache_url(REDIS_URL)} if REDIS_URL else LOCAL_CACHE
}

# The row is the job, the message a doorbell: a lost or doubled message costs time, never truth.
CELERY_BROKER_URL = broker_url(REDIS_URL)
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 120,  # above the task time limit, or a slow task runs twice at once
    "unacked_restore_interval": 5,
    "unacked_restore_throttle": 1,
    "socket_timeout": 30,
    "global_keyprefix": "ascertain:",
}
CELERY_TASK_ACKS_LATE = CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_SOFT_TIME_LIMIT, CELERY_TASK_TIME_LIMIT = 30, 45
CELERY_TASK_IGNORE_RESULT = True
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TIMEZONE = TIME_ZONE
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
# The clock's own tasks have a queue of their own, or a long queue of lookups would starve them.
CELERY_TASK_QUEUES = [Queue("celery"), Queue("clock")]
CELERY_TASK_ROUTES = {
    "console.tasks.sweep": {"queue": "clock"},
    "console.tasks.reap": {"queue": "clock"},
    "console.heartbeat.beat": {"queue": "clock"},
}
HEARTBEAT_LATE_SECONDS = 90  # two tasks at their time limit may stand before it

LOGGING = logging_settings()
