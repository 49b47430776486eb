r"""The online loop over dictionaries, one example at a time.

Notes
-----
A row :math:`x` of importance :math:`s` with margins :math:`m` (one a lane) has the gradient
:math:`g = s\,\nabla\ell(m, y) \otimes x`, or with mini-batches the mean of the rows' gradients. Of every feature the
loop knows a sum :math:`z \leftarrow z - \eta g` and, where steps are adaptive, an energy
:math:`H \leftarrow H + \|g\|^2`; its weight is :math:`c\,u\,z`, adaptive :math:`c\,u\,z / \sqrt{H + H_0}`. The common
factor :math:`c` is what l2 shrinks (so gradients are divided by it on their way in), and :math:`u` the unit of the data
under adaptive steps.

What differs between stores is which features have sums of their own, and where those of the others go.
"""

import math
from dataclasses import dataclass, field

from tests.reference.core import losses
from tests.reference.core.topk import TopK
from tests.reference.online.sketches import CountSketch, EvidenceSketch

PRIOR_COUNT = 100.0
GAIN_RATE = 0.03
MOST_GAIN = 8.0
SMALLEST_SHRINK = 2.0**-20


class Forgotten:
    """No sketch: everything that is not kept is zero."""

    def query(self, key, first=0, lanes=64, prior=0.0):
        """Nothing is known."""
        return [0.0] * lanes, 0.0

    def add(self, key, deltas, energy=0.0, first=0):
        """Nothing is kept."""

    put = add

    def draw(self):
        """Nothing is random."""

    def scale(self, factor):
        """Nothing changes."""


@dataclass
class Kept:
    """What is known of a kept feature beside its rank."""

    inverse: float
    energy: float
    sums: list[float]


class Store:
    """Tables of kept features over a sketch; with ``split`` a table for every lane."""

    def __init__(self, options, sketch):
        self.lanes = options["lanes"]
        split = options["split"] and self.lanes > 1
        count = 0 if options["store"] == "hashed" else self.lanes if split else 1
        self.group = 1 if split else self.lanes
        self.adaptive = options["rule"] == "adaptive"
        self.sketch = sketch
        self.tables = [TopK(options["k"], options["name_cap"], options["lazy"]) for _ in range(count)]
        self.kept: list[dict[int, Kept]] = [{} for _ in range(count)]

    def lanes_of(self, t):
        """The lanes that table t is about."""
        return range(t * self.group, (t + 1) * self.group)

    def predict(self, keys, values, prior):
        """The sums of weight * value, lane by lane, over kept features alone."""
        out = [0.0] * self.lanes
        for t, table in enumerate(self.kept):
            for key, value in zip(keys, values, strict=True):
                if key in table:
                    for c, z in zip(self.lanes_of(t), table[key].sums, strict=True):
                        out[c] += z * table[key].inverse * value
        return out

    def rank(self, kept):
        """By what features are compared: a weight, or the norm of several."""
        if self.lanes == 1:
            return kept.sums[0] * kept.inverse
        squares = 0.0  # not sum(), which makes up for rounding
        for z in kept.sums:
            squares += z * z
        return math.sqrt(squares) * kept.inverse

    def fade(self, factor):
        """Only what is not kept loses."""
        self.sketch.scale(factor)

    def rescale(self, factor):
        """Everything loses: the loop's common factor takes it over."""
        self.sketch.scale(factor)
        for table, kept in zip(self.tables, self.kept, strict=True):
            for key, state in kept.items():
                state.sums = [z * factor for z in state.sums]
                table.entries[key].weight *= factor


class Exact(Store):
    """Kept features have exact sums; one that comes brings its estimate, one that leaves is written back."""

    def update(self, keys, names, gradients, rate, prior):
        """Kept features move first, then those too weak to be kept, then the others compete one by one."""
        for t in range(len(self.tables)):
            were_kept = [key in self.kept[t] for key in keys]
            for key, gradient, kept in zip(keys, gradients, were_kept, strict=True):
                if kept:
                    self.move_kept(t, key, gradient, rate, prior)
            threshold, strong = max(self.tables[t].to_beat(), 0.0), []
            for key, name, gradient, kept in zip(keys, names, gradients, were_kept, strict=True):
                mine = [gradient[c] for c in self.lanes_of(t)]
                if not kept and not self.was_weak(t, key, mine, rate, prior, threshold):
                    strong.append((key, name, gradient, mine))
            for key, name, gradient, mine in strong:
                if key in self.kept[t]:  # stands twice in the row, and has just come in
                    self.move_kept(t, key, gradient, rate, prior)
                else:
                    self.move_other(t, key, name, mine, rate, prior)

    def was_weak(self, t, key, gradient, rate, prior, threshold):
        """Whether a feature had no chance, so that its gradient went into the sketch (unless it is zero)."""
        estimates, energy = self.sketch.query(key, t * self.group, self.group, prior)
        gathered = squares = 0.0
        moves = [-rate * g for g in gradient]
        for g, estimate, move in zip(gradient, estimates, moves, strict=True):
            gathered += g * g
            squares += (estimate + move) * (estimate + move)
        noise = (energy + gathered) + prior if self.adaptive else 1.0
        if gathered == 0 or squares > threshold * threshold * (1.0 - 1e-12) * noise:
            self.sketch.draw()  # as if it had been added
            return gathered == 0
        self.sketch.add(key, moves, gathered, t * self.group)
        return True

    def move_kept(self, t, key, gradient, rate, prior):
        """A step of a feature that has its own sums."""
        state = self.kept[t][key]
        for i, c in enumerate(self.lanes_of(t)):
            state.energy += gradient[c] * gradient[c]
            state.sums[i] -= rate * gradient[c]
        state.inverse = self.inverse(state.energy, prior)
        self.tables[t].put(key, self.rank(state))

    def move_other(self, t, key, name, gradient, rate, prior):
        """Into the table with what the sketch knows of it, or else into the sketch."""
        estimates, energy = self.sketch.query(key, t * self.group, self.group, prior)
        gathered = 0.0
        for g in gradient:
            gathered += g * g
        if gathered == 0:
            return
        moves = [-rate * g for g in gradient]
        sums = [estimate + move for estimate, move in zip(estimates, moves, strict=True)]
        came = Kept(self.inverse(energy + gathered, prior), energy + gathered, sums)
        table = self.tables[t]
        if any(z * z > 0 for z in sums) and table.put(key, self.rank(came), name):
            if table.left is not None:
                gone = self.kept[t].pop(table.left)
                self.sketch.put(table.left, gone.sums, gone.energy, t * self.group)
            self.kept[t][key] = came
        else:
            self.sketch.add(key, moves, gathered, t * self.group)

    def inverse(self, energy, prior):
        """What sums are multiplied by."""
        return 1.0 / math.sqrt(energy + prior) if self.adaptive else 1.0


class Estimates(Store):
    """Algorithm 1 of the MISSION paper: all gradients into the sketch, its estimates into the table."""

    def update(self, keys, names, gradients, rate, prior):
        """First all features of the row move, then the kept ones are ranked anew, then the others compete with them."""
        for key, gradient in zip(keys, gradients, strict=True):
            if any(rate * g != 0 for g in gradient):
                self.sketch.add(key, [-rate * g for g in gradient])
        were_kept = [[key in table for table in self.tables] for key in keys]
        for wanted in (True, False):
            for key, name, kept in zip(keys, names, were_kept, strict=True):
                estimates, _ = self.sketch.query(key)
                for t, table in enumerate(self.tables):
                    if kept[t] == wanted:
                        self.rank_anew(t, table, key, name, [estimates[c] for c in self.lanes_of(t)])

    def rank_anew(self, t, table, key, name, estimates):
        """What the sketch says of a feature, into the table."""
        state = Kept(1.0, 0.0, estimates)
        rank = self.rank(state) if self.group > 1 else state.sums[0]
        if (key in table or rank != 0) and table.put(key, rank, name):
            self.kept[t].pop(table.left, None)
            self.kept[t][key] = state

    def fade(self, factor):
        """The sketch has the kept ones too, who get back what they lost."""
        self.sketch.scale(factor)
        for t, kept in enumerate(self.kept):
            for key in self.tables[t].ordered():
                self.sketch.add(key, [(1.0 - factor) * z for z in kept[key].sums], first=t * self.group)


class Hashing(Store):
    """A weight for every cell: no table at all."""

    def predict(self, keys, values, prior):
        """The sums of estimate * value."""
        out = [0.0] * self.lanes
        for key, value in zip(keys, values, strict=True):
            sums, energy = self.sketch.query(key, prior=prior)
            by = value
            if self.adaptive:
                by = value / math.sqrt(energy + prior) if energy + prior > 0 else 0.0
            for c in range(self.lanes):
                out[c] += sums[c] * by
        return out

    def update(self, keys, names, gradients, rate, prior):
        """Every gradient into its cells."""
        for key, gradient in zip(keys, gradients, strict=True):
            energy = 0.0
            for g in gradient:
                energy += g * g
            if energy != 0:
                self.sketch.add(key, [-rate * g for g in gradient], energy)


def make_store(options):
    """The store that these options name."""
    shape = {name: options[name] for name in ("rows", "width", "seed", "lanes", "identity")}
    if options["store"] == "forget":
        return Exact(options, Forgotten())
    if options["store"] == "estimates":
        return Estimates(options, CountSketch(**shape))
    sketch = (EvidenceSketch if options["rule"] == "adaptive" else CountSketch)(**shape)
    return (Exact if options["store"] == "exact" else Hashing)(options, sketch)


def total(numbers):
    """Added up one after the other; ``sum`` of newer Pythons rounds less."""
    result = 0.0
    for number in numbers:
        result += number
    return result


@dataclass
class Step:
    """How long steps are, from what was seen of the data."""

    rule: str
    rate: float
    updates: float = 0.0
    longest: float = 0.0
    rows: float = 0.0
    lengths: float = 0.0
    targets: float = 0.0
    features: float = 0.0
    slopes: float = 0.0
    energy: float = 0.0
    gain: float = 0.0
    pulls: float = 0.0

    def sums(self):
        """What was learned of the data."""
        return [self.updates, self.longest, self.rows, self.lengths, self.targets, self.features, self.slopes,
                self.energy, self.gain, self.pulls]  # fmt: skip

    def pull(self, derivative):
        """Move the logarithm of all weights' common factor, by AdaGrad."""
        squares = self.pulls + derivative * derivative
        if 0 < squares < math.inf:
            self.pulls = squares
            self.gain -= GAIN_RATE * derivative / math.sqrt(squares * (1.0 + PRIOR_COUNT / self.rows))
            self.gain = max(-MOST_GAIN, min(MOST_GAIN, self.gain))

    def now(self):
        """The rate of the update that was just counted."""
        if self.rule == "constant":
            return self.rate
        if self.rule == "root":
            return self.rate / math.sqrt(self.updates)
        if self.rule == "stable":
            return 0.5 / self.longest if self.longest > 0 else 0.0
        return 1.0

    def prior(self):
        """The energy of PRIOR_COUNT average features."""
        return PRIOR_COUNT * self.energy / self.features if self.features > 0 else 0.0

    def bias_unit(self):
        """The scale of the targets, where these are numbers."""
        if self.rule != "adaptive":
            return 1.0
        return self.rate * math.sqrt(self.targets / self.rows) if self.targets > 0 else self.rate

    def unit(self):
        """The same over the scale of the rows."""
        if self.rule != "adaptive" or not self.lengths > 0:
            return 1.0
        return self.bias_unit() * math.exp(self.gain) * math.sqrt(self.rows / self.lengths)


@dataclass
class Gathered:
    """A mini-batch that is not full yet."""

    slopes: list[float]
    rows: int = 0
    sums: dict[int, list[float]] = field(default_factory=dict)
    names: dict[int, bytes] = field(default_factory=dict)


class OnlineLoop:
    """The options are those of ``_native.OnlineLoop``."""

    def __init__(self, **options):
        self.options = options
        self.lanes = options["lanes"]
        self.step = Step(options["rule"], options["rate"])
        self.store = make_store(options)
        self.shrink = 1.0
        self.bias = [0.0] * self.lanes
        self.bias_energy = 0.0
        self.rows_seen = 0
        self.gathered = Gathered([0.0] * self.lanes)

    def intercepts(self):
        """The constant of every lane."""
        if not self.options["intercept"]:
            return [0.0] * self.lanes
        step = self.step
        if step.rule != "adaptive":
            return list(self.bias)
        noise = self.bias_energy + (PRIOR_COUNT * step.slopes / step.rows if step.rows > 0 else 0.0)
        return [step.bias_unit() * z / math.sqrt(noise) if noise > 0 else 0.0 for z in self.bias]

    def predict(self, keys, values):
        """The margins of a row."""
        sums = self.store.predict(keys, values, self.step.prior())
        unit = self.shrink * self.step.unit()
        return [unit * z + b for z, b in zip(sums, self.intercepts(), strict=True)]

    def slopes(self, margins, y, importance):
        """The slope of the loss in every margin."""
        if self.options["outputs"] == "softmax":
            powers = [math.exp(m - max(margins)) for m in margins]
            total = 0.0
            for power in powers:
                total += power
            slopes = [power / total for power in powers]
            slopes[int(y[0])] -= 1.0
        else:
            loss, delta = self.options["loss"], self.options["delta"]
            slopes = [losses.derivative(loss, delta, m, t) for m, t in zip(margins, y, strict=True)]
        return [slope * importance for slope in slopes]

    def learn(self, keys, values, y, importance=1.0, names=None):
        """Learn one row, whose targets ``y`` are a list; returns the margins before, and whether it was learned."""
        names = names or [b""] * len(keys)
        before = self.step.sums()
        fours = [0.0] * 4  # four sums side by side, as the loop has them
        for i, value in enumerate(values):
            fours[i % 4] += value * value
        length = (fours[0] + fours[1]) + (fours[2] + fours[3])
        step = self.step
        step.longest = max(step.longest, importance * length)
        step.rows += 1
        step.lengths += length
        margins = self.predict(keys, values)
        slopes = self.slopes(margins, y, importance) if all(map(math.isfinite, margins)) else [math.nan]
        squares = 0.0
        for slope in slopes:
            squares += slope * slope
        if not math.isfinite(squares * length * step.rate):
            self.step = Step(step.rule, step.rate, *before)
            return margins, False
        if step.rule == "adaptive":
            step.pull(total(s * (m - b) for s, m, b in zip(slopes, margins, self.intercepts(), strict=True)))
        step.slopes += squares
        step.energy += squares * length
        step.features += len(keys)
        if self.options["outputs"] != "softmax" and self.options["loss"] in losses.REGRESSION:
            step.targets += y[0] * y[0]
        self.rows_seen += 1
        if self.options["minibatch"] > 1:
            self.gather(keys, values, slopes, names)
        elif squares != 0:
            self.move(keys, names, [[slope * value for slope in slopes] for value in values], slopes)
        return margins, True

    def gather(self, keys, values, slopes, names):
        """Put a row into the mini-batch, and learn that once it is full."""
        batch = self.gathered
        for key, value, name in zip(keys, values, names, strict=True):
            sums = batch.sums.setdefault(key, [0.0] * self.lanes)
            batch.names.setdefault(key, name)
            for c, slope in enumerate(slopes):
                sums[c] += slope * value
        batch.slopes = [a + b for a, b in zip(batch.slopes, slopes, strict=True)]
        batch.rows += 1
        full = 0 < self.options["gather"] <= len(batch.sums)
        if full or batch.rows == self.options["minibatch"]:
            self.flush()

    def flush(self):
        """Learn the mini-batch as it is: the mean of its rows' gradients."""
        batch, self.gathered = self.gathered, Gathered([0.0] * self.lanes)
        if batch.rows:
            share = 1.0 / batch.rows
            gradients = [[z * share for z in sums] for sums in batch.sums.values()]
            self.move(list(batch.sums), list(batch.names.values()), gradients, [s * share for s in batch.slopes])

    def move(self, keys, names, gradients, slopes):
        """One update of everything."""
        step = self.step
        step.updates += 1
        l2 = self.options["l2"]
        if l2 > 0:
            length = step.rate / math.sqrt(step.updates) if step.rule == "adaptive" else step.now()
            self.shrink *= max(0.5, 1.0 - l2 * length)
            if self.shrink < SMALLEST_SHRINK:
                self.store.rescale(SMALLEST_SHRINK)
                self.shrink /= SMALLEST_SHRINK
        self.store.update(keys, names, gradients, step.now() / self.shrink, step.prior())
        if self.options["fade"] < 1:
            self.store.fade(self.options["fade"])
        if self.options["intercept"]:
            rate = min(step.now(), 0.5) if step.rule == "stable" else step.now()
            for c, slope in enumerate(slopes):
                self.bias_energy += slope * slope
                self.bias[c] -= rate * slope

    def table(self, t):
        """(keys, ranks, counts, names, kept) of a table, strongest first."""
        table = self.store.tables[t]
        kept = [self.store.kept[t][key] for key in table.ordered()]
        flat = [number for state in kept for number in (state.inverse, state.energy, *state.sums)]
        return (*table.rows(len(table)), flat)
