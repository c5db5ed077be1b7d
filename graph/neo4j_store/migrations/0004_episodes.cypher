// Recorded episodes, whose words lie in a payload of their own, and the queue of those that are to be read.
//
// A payload about a recorded episode has the ordinal of the episode below zero: -1 is that of 0. `due` is when an
// operation may be leased; one that waits for another of its session, or is over, has none. Operations change under
// their tenant's lock alone.

CREATE CONSTRAINT kept_place IF NOT EXISTS FOR (n:Kept) REQUIRE n.place IS UNIQUE;
CREATE CONSTRAINT kept_content IF NOT EXISTS FOR (n:Kept) REQUIRE n.said IS UNIQUE;
CREATE INDEX kept_tenant IF NOT EXISTS FOR (n:Kept) ON (n.tenant, n.position);

CREATE CONSTRAINT operation_place IF NOT EXISTS FOR (n:Operation) REQUIRE n.place IS UNIQUE;
CREATE INDEX operation_due IF NOT EXISTS FOR (n:Operation) ON (n.due);
CREATE INDEX operation_lane IF NOT EXISTS FOR (n:Operation) ON (n.lane, n.state);
CREATE INDEX operation_state IF NOT EXISTS FOR (n:Operation) ON (n.scope, n.state, n.position);
CREATE INDEX operation_changed IF NOT EXISTS FOR (n:Operation) ON (n.state, n.changed_at);
