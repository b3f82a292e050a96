"""Every address of the deployment."""

from allauth.account import views as account
from django.urls import URLPattern, URLResolver, include, path, register_converter

from console.converters import EffectConverter
from console.views import case, decisions, effects, health, home, lookups, providers, queue, search

register_converter(EffectConverter, "effect")

in_case: list[URLPattern | URLResolver] = [
    path("", case.page, name="case"),
    path("/lookups", lookups.ask, name="lookups"),
    path("/lookups/<uuid:lookup_id>", lookups.progress, name="lookup"),
    path("/resolutions", decisions.resolve, name="resolutions"),
    path("/escalations", decisions.escalate, name="escalations"),
]
in_tenant: list[URLPattern | URLResolver] = [
    path("queue", queue.listing, name="queue"),
    path("queue/pulse", queue.pulse, name="queue_pulse"),
    path("effects", effects.listing, name="effects"),
    path("effects/<effect:effect_id>", include(in_case)),
    path("search", search.results, name="search"),
    path("providers", providers.listing, name="providers"),
]
urlpatterns = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    # Of allauth's pages only these: there is no sign-up, and no reset by mail.
    path("signin", account.login, name="account_login"),
    path("signout", account.logout, name="account_logout"),
    path("signin/again", account.reauthenticate, name="account_reauthenticate"),
    path("signin/inactive", account.account_inactive, name="account_inactive"),
    path("", home.home, name="home"),
    path("tenants", home.tenants, name="tenants"),
    path("preferences", home.preferences, name="preferences"),
    path("t/<slug:tenant>/", include(in_tenant)),
]
handler500 = "console.views.errors.server_error"
