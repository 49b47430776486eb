"""The slow twin of the permutation of blocks: a Feistel network with cycle walking, one Python integer at a time."""

WORD = 2**64 - 1
ROUNDS = 6


def splitmix(word: int) -> int:
    """The finalizer of SplitMix64."""
    word = (word + 0x9E3779B97F4A7C15) & WORD
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & WORD
    return word ^ (word >> 31)


def permuted(i: int, n: int, seed: int) -> int:
    """The number at place ``i`` of a permutation of ``range(n)``."""
    half = 1
    while 4**half < n:
        half += 1
    start = splitmix(seed & WORD)
    while True:
        high, low = divmod(i, 2**half)
        for r in range(ROUNDS):
            shift, factor = splitmix(start + 2 * r), splitmix(start + 2 * r + 1)
            product = ((low + shift) & WORD) * (factor | 1) & WORD
            high, low = low, high ^ (product >> (64 - half))
        i = high * 2**half + low
        if i < n:
            return i
