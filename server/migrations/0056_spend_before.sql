-- The sums of days now reach back to the period before the longest one that the pages show. They are made again when
-- somebody looks.

delete from spend_rollups;
delete from spend_days;
