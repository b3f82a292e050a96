-- The tenant wall (D26): web, workflow and auditor see only the tenant their transaction names.
-- It guards against our own bugs, not against a login that sets the variable. Not forced, so that
-- an owner's data migration sees every row.

create function tenant_now() returns uuid language sql stable as
  $$ select nullif(current_setting('ascertain.tenant', true), '')::uuid $$;

do $$ declare t text; begin
  foreach t in array array['effect', 'entry', 'payload', 'effect_open', 'effect_ref', 'resolution',
      'application', 'lookup', 'escalation', 'resumption', 'record', 'policy', 'policy_tier',
      'policy_auto_settle'] loop
    execute format('alter table %I enable row level security', t);
    execute format('create policy own_tenant on %I to ascertain_web, ascertain_workflow,
      ascertain_auditor using (tenant_id = (select tenant_now()))', t);
    execute format('create policy every_tenant on %I to ascertain_worker, ascertain_sealer
      using (true)', t);
  end loop;
end $$;
-- Refusals and sign-ins outside any tenant are filed under the nil tenant.
create policy outside on record for insert to ascertain_web, ascertain_auth, ascertain_workflow
  with check (tenant_id = '00000000-0000-0000-0000-000000000000');
