-- The report asks which events of an hour lost their content before they were delivered; few have lost it at all.
create index event_removed on event (event_id) where removed_at is not null;
