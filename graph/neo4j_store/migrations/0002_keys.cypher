// Keys that were issued, of which only the digest is kept, and to whom namespaces belong. A digest is hexadecimal:
// bytes have no index.

CREATE CONSTRAINT api_key_prefix IF NOT EXISTS FOR (n:ApiKey) REQUIRE n.prefix IS UNIQUE;
CREATE CONSTRAINT api_key_digest IF NOT EXISTS FOR (n:ApiKey) REQUIRE n.digest IS UNIQUE;
CREATE INDEX api_key_tenant IF NOT EXISTS FOR (n:ApiKey) ON (n.tenant, n.prefix);
CREATE CONSTRAINT owner_namespace IF NOT EXISTS FOR (n:Owner) REQUIRE (n.tenant, n.namespace) IS UNIQUE;
