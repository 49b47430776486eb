"""Words of overlapping k-mers, by joining any two pieces that may be joined until there are none."""

from __future__ import annotations

_COMPLEMENT = {"A": "T", "C": "G", "G": "C", "T": "A"}


def other_strand(word: str) -> str:
    return "".join(_COMPLEMENT[letter] for letter in reversed(word))


def joints(kmers: list[str], canonical: bool) -> set[tuple[str, str]]:
    """Pairs of k-mers, on either strand, that only each other follow and precede."""
    strands = {text for kmer in kmers for text in ((kmer, other_strand(kmer)) if canonical else (kmer,))}

    def differ(a: str, b: str) -> bool:
        return a != b and not (canonical and a == other_strand(b))

    pairs = [(a, b) for a in strands for b in strands if a[1:] == b[:-1] and differ(a, b)]
    return {(a, b) for a, b in pairs if sum(a == c for c, _ in pairs) == sum(b == d for _, d in pairs) == 1}


def assembled(kmers: list[str], canonical: bool) -> dict[str, bool]:
    """The words of two k-mers or more, and whether each is a circle, which may begin anywhere."""
    k = len(kmers[0]) if kmers else 0
    allowed = joints(kmers, canonical)
    words = set(kmers)

    def turned(word: str) -> list[str]:
        return [word, other_strand(word)] if canonical else [word]

    def join() -> bool:
        for a in sorted(words):
            for b in sorted(words - {a}):
                for left in turned(a):
                    for right in turned(b):
                        if (left[-k:], right[:k]) in allowed:
                            words.difference_update((a, b))
                            words.add(left + right[k - 1 :])
                            return True
        return False

    while join():
        pass
    return {min(turned(word)): (word[-k:], word[:k]) in allowed for word in words if len(word) > k}
