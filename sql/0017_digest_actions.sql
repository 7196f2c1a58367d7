-- Whether a tenant's daily digest names what is held and has links that release it (functions/held_link.sql).
alter table tenant add column digest_actions boolean not null default false;
