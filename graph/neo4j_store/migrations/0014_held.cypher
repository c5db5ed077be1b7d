// Of the facts with one value, as those that point at an entity, very many may hold since the same day: whoever wants the
// last of them must not read them all, so within a day they stand in the order in which they were recorded.

CREATE INDEX fact_held_since IF NOT EXISTS FOR ()-[r:FACT]-() ON (r.held, r.valid_from, r.recorded_from);

DROP INDEX fact_held IF EXISTS;
