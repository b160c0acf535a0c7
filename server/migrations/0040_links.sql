-- A link of a letter is found by its name: the first word of its identifier.
create index verifications_name on verifications (split_part(identifier, ' ', 1));
