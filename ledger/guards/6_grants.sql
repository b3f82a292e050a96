-- Who may do what, table by table and column by column; no default privileges, no owners.

revoke all on all tables in schema public from public;
revoke execute on all functions in schema public from public;
grant usage on schema public to ascertain_web, ascertain_auth, ascertain_worker, ascertain_workflow,
  ascertain_sealer, ascertain_auditor;
grant execute on function tenant_now(), key_margin(int),
  people_required(uuid, int, text, text, bigint), holds(uuid, uuid, text)
  to ascertain_web, ascertain_worker, ascertain_workflow, ascertain_auditor;

grant select on tenant, person, contract to ascertain_web, ascertain_worker, ascertain_workflow,
  ascertain_sealer, ascertain_auditor;
grant select on tenant_grant, auth_permission, django_content_type
  to ascertain_web, ascertain_auth, ascertain_auditor;
grant select (id, username, email, is_active, date_joined, last_login, person_id, zone, theme,
  density) on account to ascertain_web, ascertain_auditor;
grant select, update (password, last_login, zone, theme, density) on account to ascertain_auth;
grant select on person to ascertain_auth;

grant select on effect, entry, payload, effect_open, effect_ref, resolution, application, lookup,
  escalation, resumption, record, policy, policy_tier, policy_auto_settle
  to ascertain_web, ascertain_worker, ascertain_auditor;
grant select on effect, entry, resolution, application, escalation, record, payload
  to ascertain_sealer;
grant select on effect, entry, payload, effect_open, resumption to ascertain_workflow;

grant insert (tenant_id, effect_id, intent_key, request_digest, digest_version, amount_minor,
  currency, exponent, workflow_id, step_id, object_type, object_ref, recipient_token,
  recipient_label, provider, operation, contract_version, account, environment, provider_key,
  initiator_id, distinct_because, hand) on effect to ascertain_workflow, ascertain_worker;
grant insert (first_attempt_at) on effect to ascertain_worker;
grant insert on payload to ascertain_workflow, ascertain_worker;
grant update (state, hand, lease_until, cause, server_error, declined_code, reject_kind,
  provider_result_id, response_digest, completed_at, provider_completed_at)
  on effect to ascertain_worker;
grant update (due_at, priority, rank_minor, rank_until) on effect_open to ascertain_worker;

grant insert (tenant_id, lookup_id, effect_id, asked_by) on lookup
  to ascertain_web, ascertain_worker;
grant update (started_at, finished_at, entry_no, progress) on lookup to ascertain_worker;
grant insert (tenant_id, resolution_id, effect_id, command_id, action, version, receipt_id,
  evidence, reason_code, words, person_id, account_id) on resolution to ascertain_web;
grant insert (tenant_id, resolution_id) on application to ascertain_web;
grant insert (tenant_id, escalation_id, effect_id, command_id, person_id, account_id, owner,
  reason_code, words, next_check_at) on escalation to ascertain_web, ascertain_worker;
grant insert (tenant_id, record_id, kind, person_id, account_id, object_type, object_id, body)
  on record to ascertain_web, ascertain_auth, ascertain_worker, ascertain_workflow;
grant update (acknowledged_at) on resumption to ascertain_workflow;
