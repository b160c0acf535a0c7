-- A read of an account takes as long as what it shows, however much the account has stored.

create index key_usage_account on key_usage (account_id, month);
create index members_account on members (account_id, created_at, person_id);
create index refusals_account on refusals (account_id, began_at);
create index files_held on files (account_id, expires_at) include (size);

drop index webhook_deliveries_request;
create index webhook_deliveries_request on webhook_deliveries (request_id, id) where request_id is not null;
create index webhook_deliveries_alerts on webhook_deliveries (account_id, id) where cause = 'low_balance';

drop index invitations_account;
drop index invitations_email;
create index invitations_account on invitations (account_id, expires_at) where accepted_at is null;
create index invitations_email on invitations (email, expires_at) where accepted_at is null;
create index invitations_expires on invitations (expires_at);
