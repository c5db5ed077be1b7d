"""How a store that an older backup brought back forgets again what was forgotten since.

The keys of what is gone are destroyed, so its own payloads did not come back. What is left to do is what forgetting
did to others: claims that point at it, words that they quoted, and a tombstone that answers for it from now on. And
the journal has to say which payloads are not there, since the events that destroyed them came after the backup.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from consolidation.commits import Commits
from consolidation.forgetting.carry_out import Before, Deed, commit_of
from consolidation.forgetting.forgetter import REASON, each_tombstone
from consolidation.forgetting.plan import plan_again
from graph.backup_lines import Gone
from graph.journal import NO_DIGEST
from graph.journal_rows import seal
from graph.ports import Clock, MemoryStore, Randomness, Transaction
from ontology.events import Restated
from ontology.ids import TOMBSTONE, locate
from ontology.scope import Tenant, scope_of
from ontology.tombstones import Tombstone


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """Forgets again in one store."""

    store: MemoryStore
    clock: Clock
    randomness: Randomness

    def forget(self, tenant: Tenant, stones: Sequence[tuple[Tombstone, bytes]], gone: Gone) -> int:
        """Apply the tombstones, each with the secret of its marks, that the tenant does not have; gives how many.

        Each is a commit, in order, in the name of whoever forgot first. Of the ids that it names only those stay that
        are from before the end of the backup: what comes later gets its ids anew. By its manifest it is known again.
        `gone` are the payloads that could not be read.
        """
        with self.store.read(scope_of(tenant)) as reader:
            there = {stone.manifest for stone in each_tombstone(reader)}
            head = reader.head
        missing = [
            (stone, secret)
            for stone, secret in sorted(stones, key=lambda each: each[0].position)
            if stone.manifest not in there and locate(stone.id, TOMBSTONE).ledger == head.ledger
        ]
        for number, (stone, secret) in enumerate(missing):
            self._forget(stone, secret, head.position, gone if number == 0 else {})
        return len(missing)

    def _forget(self, stone: Tombstone, secret: bytes, end: int, gone: Gone) -> None:
        scope, commits = stone.scope, Commits(self.clock, self.randomness)
        scopes = self.store.scopes(scope.tenant)
        with self.store.write(scope) as tx:
            head, known = tx.head, tx.secret()
            plan = plan_again(tx, stone, scopes, end)
            deed = Deed(
                actor=stone.actor, ledger=commits.ledger(head), position=head.position + 1,
                now=commits.time_after(head), secret=known or secret, is_new_secret=known is None, blocks=stone.blocks,
            )  # fmt: skip
            lost = tuple((at, owner) for (at, owner), left in gone.items() if left == NO_DIGEST and owner is not None)
            before = Before(stone=stone, end=end, lost=lost, cut=tuple(_resealed(tx, gone, commits)))
            commit = commit_of(tx, plan, deed, commits.salt, before)
            tx.end_reading([*plan.episodes, *plan.emptied], REASON, self.clock.now())
            tx.apply(commit, ledger=deed.ledger)


def _resealed(tx: Transaction, gone: Gone, commits: Commits) -> list[Restated]:
    """What is left of payloads that lost what they quoted, under salts that no backup has."""
    cut = {at for at, left in gone.items() if left != NO_DIGEST}
    return [
        Restated(position=position, payload=seal(owner, commits.salt(), payload.body))
        for owner in sorted({owner for _, owner in cut if owner is not None})
        for position, payload in tx.payloads_about(owner)
        if (position, owner) in cut
    ]
