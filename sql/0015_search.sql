-- The indexes for the operator's search (src/store/operator/search.ts) that commits update.

-- Finds the events of a source or a tenant, newest first.
create index event_key on event (key_id, event_id);

-- One partial index per flag (src/contract/fields.ts), which costs nothing for the many events without flags.
create index event_flag_phone_unnormalized on event (event_id) where flags @> '{phone_unnormalized}';
create index event_flag_project_area_unknown on event (event_id) where flags @> '{project_area_unknown}';
create index event_flag_project_service_unknown on event (event_id) where flags @> '{project_service_unknown}';
create index event_flag_email_shape_suspect on event (event_id) where flags @> '{email_shape_suspect}';
create index event_flag_extra_fields_preserved on event (event_id) where flags @> '{extra_fields_preserved}';
create index event_flag_country_unrecognized on event (event_id) where flags @> '{country_unrecognized}';
