// The index of what is found by words and by meaning. What the other store asks too has the name that it has there.
//
// A :Statement stands for a value in a slot, a :Chunk for a stretch of the words of an episode. Both are a :Text once
// they have one: `written` is then its scope, `text_of` the tenant and the key of the text. `unwritten` is the scope of
// a statement that wants a sentence, `about` that of a sentence with its predicate, `named` the scope of a name.
//
// A tenant has two sides, `a` and `b`: vectors are served from one, and those of another model may be made on the other.
// `wants_a` is the scope of a text without a vector on side `a`. A query whose name ends with `_a` is there for `b` too:
// each `_a` in it is a `_b` then. A fact has the vector of its statement, for the index that knows the times of facts;
// a server that cannot filter within such an index, or stumbles, is asked `unfiltered` in its place.
// What the index of full texts gives is awaited first, for it is written after the commit.
//
// What gives candidates, rows of (said, score, ours), is asked within `facts_of_candidates`: that is `…_served`.

// name: to_index_a
CALL () {
  MATCH (t:Statement) WHERE t.unwritten = $scope AND t.said >= '' WITH t LIMIT $limit
  RETURN count(t) AS statements
}
CALL () {
  MATCH (k:Kept) WHERE k.uncut = $scope AND k.position <= $position WITH k LIMIT $limit
  RETURN count(k) AS episodes
}
CALL () {
  MATCH (t:Text) WHERE t.wants_a = $scope AND t.text_of >= '' WITH DISTINCT t.text_of AS text_of LIMIT $limit
  RETURN count(text_of) AS texts
}
RETURN statements, episodes, texts

// name: unwritten
MATCH (t:Statement) WHERE t.unwritten = $scope AND t.said >= ''
CALL (t) {
  MATCH ()-[f:FACT]->() USING INDEX SEEK f:FACT(said, recorded_from)
  WHERE f.said = t.said AND f.recorded_from <= $known_at
  RETURN f LIMIT 1
}
RETURN f.subject_position, f.subject_ordinal, f.predicate, f.language, f.value_type, f.value_text, f.value_qualifier,
  f.value_key
ORDER BY t.unwritten, t.said LIMIT $limit

// name: uncut
MATCH (k:Kept) WHERE k.uncut = $scope AND k.position <= $position
RETURN k.position, k.ordinal ORDER BY k.position, k.ordinal LIMIT $limit

// name: models
MATCH (m:Models {tenant: $tenant}) RETURN m.serving, m.a, m.a_dimensions, m.b, m.b_dimensions

// name: unembedded_a
MATCH (t:Text) WHERE t.wants_a = $scope AND t.text_of >= ''
WITH t.wants_a AS scope, t.text_of AS text_of, min(t.text) AS text
RETURN text_of, text ORDER BY scope, text_of LIMIT $limit

// name: all_texts
// Of a model that nobody has begun.
CALL () {
  MATCH (t:Statement) WHERE t.written = $scope RETURN t.text_of AS text_of, t.text AS text
  UNION
  MATCH (t:Chunk) WHERE t.written = $scope RETURN t.text_of AS text_of, t.text AS text
}
RETURN text_of, text ORDER BY text_of LIMIT $limit

// name: count_texts
CALL () {
  MATCH (t:Statement) WHERE t.written = $scope RETURN t.text_of AS text_of
  UNION
  MATCH (t:Chunk) WHERE t.written = $scope RETURN t.text_of AS text_of
}
WITH text_of LIMIT $limit
RETURN count(text_of)

// name: scopes_to_index
// Where $model is null, vectors are wanted of no model.
MATCH (s:Scope) WHERE s.tenant >= ''
OPTIONAL MATCH (m:Models {tenant: s.tenant})
WITH s, CASE WHEN $model IS NULL THEN null WHEN m.a = $model THEN 'a' WHEN m.b = $model THEN 'b' ELSE '' END AS side
WHERE EXISTS { MATCH (t:Statement) WHERE t.unwritten = s.scope AND t.said >= '' }
  OR EXISTS { MATCH (k:Kept) WHERE k.uncut = s.scope AND k.position >= 0 }
  OR side = 'a' AND EXISTS { MATCH (t:Text) WHERE t.wants_a = s.scope AND t.text_of >= '' }
  OR side = 'b' AND EXISTS { MATCH (t:Text) WHERE t.wants_b = s.scope AND t.text_of >= '' }
  OR side = '' AND (EXISTS { MATCH (t:Statement) WHERE t.written = s.scope }
    OR EXISTS { MATCH (t:Chunk) WHERE t.written = s.scope })
RETURN s.tenant, s.namespace, s.purpose ORDER BY s.tenant, s.namespace, s.purpose LIMIT $limit

// name: count_sentences
// Kept beside the scope, since each question asks.
MATCH (s:Scope {scope: $scope}) RETURN coalesce(s.sentences, 0)

// name: term_counts
CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()
UNWIND $queries AS query
CALL (query) {
  CALL db.index.fulltext.queryNodes($index, query, {limit: $ceiling}) YIELD node AS t
  WHERE t.written = $scope
  RETURN count(t) AS found
}
RETURN query, found

// name: rank_words
CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()
CALL db.index.fulltext.queryNodes('statement_words', $query, {skip: $skip, limit: $limit}) YIELD node AS t, score
RETURN t.said AS said, score, coalesce(t.written = $scope, false) AS ours

// name: rank_names
CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()
CALL db.index.fulltext.queryNodes('statement_grams', $query, {skip: $skip, limit: $limit}) YIELD node AS t, score
RETURN t.said AS said, score, coalesce(t.named = $scope, false) AS ours

// name: rank_chunks
CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()
CALL db.index.fulltext.queryNodes('chunk_words', $query, {skip: $skip, limit: $limit}) YIELD node AS t, score
RETURN [t.position, t.ordinal, t.number, t.turn, t.start, t.end, t.text], score,
  coalesce(t.written = $scope AND t.recorded_at <= $known_at, false)

// name: facts_of_candidates
// How many candidates there are, and with its score each fact of theirs that is believed at known_at, meets [since,
// until] and has not expired. The best come first, those of one score together, and no more of them than give $wanted
// facts: of the others nothing is read. One record, since each costs the driver more than a row in it.
CALL () {
  CANDIDATES
}
WITH collect([said, score, ours]) AS page
CALL (page) {
  UNWIND page AS candidate
  WITH candidate[0] AS said, candidate[1] AS score, candidate[2] AS ours
  WITH said, max(score) AS score, ours WHERE ours AND score IS NOT NULL
  WITH score, collect(said) AS equals ORDER BY score DESC
  CALL (equals) {
    UNWIND equals AS said
    CALL (said) {
      MATCH ()-[f:FACT]->() USING INDEX SEEK f:FACT(said, recorded_from)
      WHERE f.said = said AND f.recorded_from <= $known_at AND f.recorded_to > $known_at AND f.scope = $scope
        AND f.valid_from <= $until AND f.valid_to > $since
        AND (f.may_expire_at IS NULL OR f.may_expire_at > $served_at OR EXISTS {
          MATCH (y:Claim)-[x:SUPPORTS]->() USING INDEX SEEK x:SUPPORTS(said, valid_from)
          WHERE x.said = f.said AND x.valid_from >= f.valid_from AND x.valid_from < f.valid_to
            AND x.recorded_from <= $known_at AND x.recorded_to > $known_at
            AND (y.expires_at IS NULL OR y.expires_at > $served_at) })
      RETURN f ORDER BY f.recorded_from DESC, f.valid_from DESC LIMIT $wanted
    }
    RETURN collect(f) AS facts
  }
  UNWIND range(1, size(facts)) AS each
  WITH score, facts LIMIT $wanted
  WITH DISTINCT score, facts
  UNWIND facts AS f
  MATCH (s:Slot {slot: f.slot})
  CALL (f) {
    MATCH (u:Support) WHERE u.said = f.said AND u.recorded_from <= $known_at
    WITH u ORDER BY u.said DESC, u.recorded_from DESC LIMIT 1
    RETURN collect([u.recorded_from, u.sources, u.occurrences, u.doubt])[0] AS held
  }
  RETURN collect([f.position, f.ordinal, f.value_type, f.value_text, f.value_qualifier, f.value_key, f.certain,
    f.valid_from, f.valid_to, f.recorded_from, f.recorded_to,
    f.subject_position, f.subject_ordinal, f.predicate, f.language, s.plain, held, f.said, f.may_expire_at, score])
    AS found
}
RETURN size(page), found

// name: episodes_of_passages
UNWIND $places AS place
MATCH (k:Kept {place: place[0]}) WHERE k.scope = $scope AND k.position <= $position
CALL (k, place) {
  MATCH (e:Episode {tenant: k.tenant, episode: place[1]})
  RETURN e
}
CALL (k) {
  MATCH (a:Activity {tenant: k.tenant, position: k.position})
  RETURN a
}
CALL (k, place) {
  MATCH (y:Payload) WHERE y.subject = place[2] AND y.position = k.position
  RETURN collect([y.digest, y.restated, y.salt, y.body])[0] AS payload
}
RETURN e.episode, e.source, e.observed_at, e.root, a.recorded_at, a.principal, payload

// name: near_facts_a
// Numbers are doubles in this index, so that bounds may meet what they should not; whoever asks looks at them again.
CYPHER 25
MATCH ()-[f:FACT]->()
  SEARCH f IN (VECTOR INDEX fact_vector_a FOR $vector
    WHERE f.scope = $scope AND f.valid_from <= $until AND f.valid_to >= $since
      AND f.recorded_from <= $known_at AND f.recorded_to >= $known_at
    LIMIT $limit)
RETURN f.said AS said, 2 * vector.similarity.cosine(f.vector_a, $vector) - 1 AS score, true AS ours

// name: near_facts_of_a
CYPHER 25
UNWIND $predicates AS predicate
MATCH ()-[f:FACT]->()
  SEARCH f IN (VECTOR INDEX fact_vector_a FOR $vector
    WHERE f.scope = $scope AND f.predicate = predicate AND f.valid_from <= $until AND f.valid_to >= $since
      AND f.recorded_from <= $known_at AND f.recorded_to >= $known_at
    LIMIT $limit)
RETURN f.said AS said, 2 * vector.similarity.cosine(f.vector_a, $vector) - 1 AS score, true AS ours

// name: unfiltered_near_facts_a
CALL db.index.vector.queryRelationships('fact_vector_a', $limit, $vector) YIELD relationship AS f
RETURN f.said AS said, 2 * vector.similarity.cosine(f.vector_a, $vector) - 1 AS score,
  f.scope = $scope AND f.valid_from <= $until AND f.valid_to >= $since AND f.recorded_from <= $known_at
  AND f.recorded_to >= $known_at AND ($predicates IS NULL OR f.predicate IN $predicates) AS ours

// name: near_chunks_a
CYPHER 25
MATCH (t:Chunk)
  SEARCH t IN (VECTOR INDEX chunk_vector_a FOR $vector
    WHERE t.written = $scope AND t.recorded_at <= $known_at LIMIT $limit)
RETURN [t.position, t.ordinal, t.number, t.turn, t.start, t.end, t.text],
  2 * vector.similarity.cosine(t.vector_a, $vector) - 1, t.recorded_at <= $known_at

// name: unfiltered_near_chunks_a
CALL db.index.vector.queryNodes('chunk_vector_a', $limit, $vector) YIELD node AS t
RETURN [t.position, t.ordinal, t.number, t.turn, t.start, t.end, t.text],
  2 * vector.similarity.cosine(t.vector_a, $vector) - 1, t.written = $scope AND t.recorded_at <= $known_at

// name: nearest_facts_a
// All of a scope are compared. What has no vector and wants none has one that is all zeros.
MATCH (t:Statement)
WHERE t.written = $scope AND (t.vector_a IS NOT NULL OR t.wants_a IS NULL) AND ($abouts IS NULL OR t.about IN $abouts)
WITH t.said AS said, CASE WHEN t.vector_a IS NULL OR $vector IS NULL THEN 0.0
  ELSE 2 * vector.similarity.cosine(t.vector_a, $vector) - 1 END AS score
RETURN said, score, true AS ours ORDER BY score DESC, said SKIP $skip LIMIT $limit

// name: nearest_chunks_a
MATCH (t:Chunk) WHERE t.written = $scope AND (t.vector_a IS NOT NULL OR t.wants_a IS NULL)
WITH t, CASE WHEN t.vector_a IS NULL OR $vector IS NULL THEN 0.0
  ELSE 2 * vector.similarity.cosine(t.vector_a, $vector) - 1 END AS score
ORDER BY score DESC, t.position DESC, t.ordinal DESC, t.number SKIP $skip LIMIT $limit
RETURN [t.position, t.ordinal, t.number, t.turn, t.start, t.end, t.text], score, t.recorded_at <= $known_at

// name: count_chunks
MATCH (t:Chunk) WHERE t.written = $scope WITH t LIMIT $limit RETURN count(t)

// name: put_sentences
// A text that is another than before has no vectors.
UNWIND $rows AS p
MATCH (t:Statement {said: p[0]})
WITH p, t, t.text_of IS NOT NULL AND t.text_of = p[1] AS same, t.text_of IS NULL AS is_new
SET t.written = t.scope, t.unwritten = null, t.text_of = p[1], t.text = p[2], t.words = p[3], t.about = p[4],
  t.named = CASE WHEN p[5] IS NULL THEN null ELSE t.scope END, t.grams = p[5],
  t.wants_a = CASE WHEN same THEN t.wants_a ELSE t.scope END, t.wants_b = CASE WHEN same THEN t.wants_b ELSE t.scope END,
  t.vector_a = CASE WHEN same THEN t.vector_a ELSE null END, t.vector_b = CASE WHEN same THEN t.vector_b ELSE null END
RETURN p[1], same, is_new

// name: count_written
MATCH (s:Scope {scope: $scope}) SET s.sentences = coalesce(s.sentences, 0) + $more

// name: rewrite_under
// All that is said under some predicates is to be written anew, in every scope of a tenant.
MATCH (o:Scope) USING INDEX SEEK o:Scope(tenant) WHERE o.tenant = $tenant
UNWIND $predicates AS predicate
MATCH (s:Slot) USING INDEX SEEK s:Slot(scope, predicate, subject_position)
WHERE s.scope = o.scope AND s.predicate = predicate AND s.subject_position >= 0
MATCH ()-[f:FACT]->() USING INDEX SEEK f:FACT(slot, valid_from, recorded_from)
WHERE f.slot = s.slot AND f.valid_from >= -4611686018427387904 AND f.recorded_from >= -4611686018427387904
WITH DISTINCT f.said AS said
MATCH (t:Statement {said: said})
SET t.unwritten = t.scope

// name: words_to_cut
MATCH (k:Kept {place: $place}) WHERE k.scope = $scope AND k.words_of IS NOT NULL RETURN 1

// name: put_chunks
MATCH (k:Kept {place: $place}) WHERE k.scope = $scope AND k.words_of IS NOT NULL
MATCH (a:Activity {tenant: k.tenant, position: k.position})
SET k.uncut = null
WITH k, a
UNWIND $rows AS p
CREATE (t:Chunk:Text {kept: k.place, written: k.scope, recorded_at: a.recorded_at, position: k.position,
  ordinal: k.ordinal, number: p[0], turn: p[1], start: p[2], end: p[3], text_of: p[4], text: p[5], words: p[6],
  wants_a: k.scope, wants_b: k.scope})
RETURN count(t)

// name: share_vectors_a
// What is the vector of one text is that of all that are the same.
UNWIND $texts AS text
CALL (text) {
  MATCH (o:Text) WHERE o.text_of = text AND o.vector_a IS NOT NULL
  RETURN o.vector_a AS vector LIMIT 1
}
MATCH (t:Text) WHERE t.text_of = text AND t.wants_a IS NOT NULL
SET t.vector_a = vector, t.wants_a = null

// name: put_vectors_a
UNWIND $rows AS p
MATCH (t:Text) WHERE t.text_of = p[0]
CALL db.create.setNodeVectorProperty(t, 'vector_a', p[1])
SET t.wants_a = null

// name: put_no_vectors_a
// All zeros have no direction: as near to everything as anything else, and no entry of an index.
UNWIND $texts AS text
MATCH (t:Text) WHERE t.text_of = text
SET t.vector_a = null, t.wants_a = null

// name: spread_vectors_a
UNWIND $texts AS text
MATCH (t:Text) WHERE t.text_of = text
MATCH ()-[f:FACT]->() USING INDEX SEEK f:FACT(said, recorded_from)
WHERE f.said = t.said AND f.recorded_from >= -4611686018427387904
SET f.vector_a = t.vector_a

// name: put_models
MERGE (m:Models {tenant: $tenant})
SET m.serving = $serving, m.a = $a, m.a_dimensions = $a_dimensions, m.b = $b, m.b_dimensions = $b_dimensions

// name: remove_vectors_of_facts_a
MATCH (s:Scope) WHERE s.tenant = $tenant
MATCH (t:Statement) WHERE t.written = s.scope AND t.vector_a IS NOT NULL
MATCH ()-[f:FACT]->() USING INDEX SEEK f:FACT(said, recorded_from)
WHERE f.said = t.said AND f.recorded_from >= -4611686018427387904
SET f.vector_a = null

// name: remove_vectors_of_statements_a
MATCH (s:Scope) WHERE s.tenant = $tenant
MATCH (t:Statement) WHERE t.written = s.scope
SET t.vector_a = null, t.wants_a = s.scope

// name: remove_vectors_of_chunks_a
MATCH (s:Scope) WHERE s.tenant = $tenant
MATCH (t:Chunk) WHERE t.written = s.scope
SET t.vector_a = null, t.wants_a = s.scope

// name: remove_statements
// Of slots that are erased, or of one value in them, before their facts are.
UNWIND $slots AS slot
MATCH ()-[f:FACT]->() USING INDEX SEEK f:FACT(slot, recorded_from, valid_from)
WHERE f.slot = slot AND f.recorded_from >= -4611686018427387904 AND f.valid_from >= -4611686018427387904
  AND ($value IS NULL OR f.value_key = $value)
WITH DISTINCT f.said AS said
MATCH (t:Statement {said: said})
WITH t, t.written AS scope
DETACH DELETE t
WITH scope, count(*) AS gone WHERE scope IS NOT NULL
MATCH (s:Scope {scope: scope})
SET s.sentences = s.sentences - gone

// name: remove_statements_of_facts
// Those that no fact is left of when the facts at these places go.
UNWIND $places AS place
MATCH ()-[f:FACT]->() WHERE f.place = place
WITH DISTINCT f.said AS said
WHERE NOT EXISTS {
  MATCH ()-[o:FACT]->() USING INDEX SEEK o:FACT(said, recorded_from)
  WHERE o.said = said AND o.recorded_from >= -4611686018427387904 AND NOT o.place IN $places }
MATCH (t:Statement {said: said})
WITH t, t.written AS scope
DETACH DELETE t
WITH scope, count(*) AS gone WHERE scope IS NOT NULL
MATCH (s:Scope {scope: scope})
SET s.sentences = s.sentences - gone

// name: remove_chunks
UNWIND $places AS place
MATCH (t:Chunk) WHERE t.kept = place
DETACH DELETE t

// name: rewrite_around
// All that names an entity in a scope is to be written anew.
UNWIND $rows AS p
MATCH (e:Entity {place: p[1]})-[f:FACT]-() WHERE f.scope = p[0]
WITH DISTINCT f.said AS said
MATCH (t:Statement {said: said})
SET t.unwritten = t.scope

// name: remove_texts_around
// All that may hold a name of an entity; without a scope in all of them.
UNWIND $rows AS p
MATCH (e:Entity {place: p[1]})-[f:FACT]-() WHERE p[0] IS NULL OR f.scope = p[0]
WITH DISTINCT f.said AS said
MATCH (t:Statement {said: said})
WITH t, t.written AS scope
SET t.unwritten = t.scope, t.written = null, t.text_of = null, t.text = null, t.words = null, t.about = null,
  t.named = null, t.grams = null, t.wants_a = null, t.wants_b = null, t.vector_a = null, t.vector_b = null
WITH scope, count(*) AS gone WHERE scope IS NOT NULL
MATCH (s:Scope {scope: scope})
SET s.sentences = s.sentences - gone

// name: remove_vectors_around
UNWIND $rows AS p
MATCH (e:Entity {place: p[1]})-[f:FACT]-() WHERE p[0] IS NULL OR f.scope = p[0]
SET f.vector_a = null, f.vector_b = null

// name: remove_vectors_of_scope
MATCH (t:Statement) WHERE t.written = $scope
MATCH ()-[f:FACT]->() USING INDEX SEEK f:FACT(said, recorded_from)
WHERE f.said = t.said AND f.recorded_from >= -4611686018427387904
SET f.vector_a = null, f.vector_b = null

// name: remove_texts_of_scope
MATCH (t:Statement) WHERE t.written = $scope
WITH t, t.written AS scope
SET t.unwritten = t.scope, t.written = null, t.text_of = null, t.text = null, t.words = null, t.about = null,
  t.named = null, t.grams = null, t.wants_a = null, t.wants_b = null, t.vector_a = null, t.vector_b = null
WITH scope, count(*) AS gone WHERE scope IS NOT NULL
MATCH (s:Scope {scope: scope})
SET s.sentences = s.sentences - gone

// name: remove_chunks_of_scope
MATCH (t:Chunk) WHERE t.written = $scope
WITH t, t.kept AS place
DETACH DELETE t
WITH DISTINCT place
MATCH (k:Kept {place: place})
SET k.uncut = k.scope
