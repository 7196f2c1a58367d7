-- What a database holds to, whoever writes: amounts that nobody can turn into a credit.

-- What a lead costs, US cents (SPEC, Limits).
create domain lead_cost_cents as int check (value between 1 and 99999);
alter table campaign_charge add check (cents > 0);
alter table subscription add check (amount_cents >= 0);

-- Nothing that a later migration makes is open by accident: see functions/zz_grants.sql.
alter default privileges in schema public revoke all on tables from lead_service;
