"""The fields of a clusterloader2 test; names and meaning are those of its api/types.go.

What is left out, or null, is zero or empty.
"""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct, field

from clusterload.durations import Duration

Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Positive = Annotated[int, Meta(ge=1, le=2**31 - 1)]
Rate = Annotated[float, Meta(gt=0, le=1e6)]
"""Actions a second."""

Params = dict[str, Any]

NO_TIME = Duration(0)
DELETE_NAMESPACE_TIMEOUT = Duration(600)


class _Block(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"): ...


class QPSLoad(_Block, frozen=True, kw_only=True):
    """Starts an action each 1/qps seconds."""

    qps: Rate


class GlobalQPSLoad(_Block, frozen=True, kw_only=True):
    """Like QPSLoad, with one allowance for all phases that name the same set."""

    qps: Rate
    burst: Positive


class ParallelismLimitedLoad(_Block, frozen=True, kw_only=True):
    """`parallelism_limit` actions at a time, as fast as they go."""

    parallelism_limit: Positive


class RandomizedLoad(_Block, frozen=True, kw_only=True):
    """Pauses of a random length, up to two seconds / averageQps."""

    average_qps: Rate


class SteppedLoad(_Block, frozen=True, kw_only=True):
    """A burst, a pause, a burst."""

    burst_size: Positive
    step_delay: Duration


class TimeLimitedLoad(_Block, frozen=True, kw_only=True):
    """All actions spread evenly over a time."""

    time_limit: Duration


class RandomizedTimeLimitedLoad(_Block, frozen=True, kw_only=True):
    """Each action at a random moment of a time."""

    time_limit: Duration


class PoissonLoad(_Block, frozen=True, kw_only=True):
    """Independent arrivals at an average rate."""

    expected_actions_per_second: Rate


class TuningSet(_Block, frozen=True, kw_only=True):
    """How fast a phase goes; exactly one load has to be given."""

    name: str
    initial_delay: Duration = NO_TIME
    """clusterloader2 reads this and waits for nothing; so do we."""
    qps_load: QPSLoad | None = None
    randomized_load: RandomizedLoad | None = None
    stepped_load: SteppedLoad | None = None
    time_limited_load: TimeLimitedLoad | None = None
    randomized_time_limited_load: RandomizedTimeLimitedLoad | None = None
    parallelism_limited_load: ParallelismLimitedLoad | None = None
    global_qps_load: GlobalQPSLoad | None = field(name="globalQPSLoad", default=None)
    poisson_load: PoissonLoad | None = None


class NamespaceRange(_Block, frozen=True, kw_only=True):
    """Namespaces <basename>-<min> to <basename>-<max>, both included."""

    min: Count = 0
    max: Count = 0
    basename: str | None = None
    """None stands for the prefix of the namespaces that the test makes."""


class BundledObject(_Block, frozen=True, kw_only=True):
    basename: str
    object_template_path: str
    template_fill_map: Params = {}
    list_unknown_object_options: Any = None


class Phase(_Block, frozen=True, kw_only=True):
    """How many of some objects there are to be, in each of some namespaces."""

    namespace_range: NamespaceRange | None = None
    namespace_list: list[str] = []
    replicas_per_namespace: Count = 0
    tuning_set: str = ""
    object_bundle: list[BundledObject] = []


class Instance(_Block, frozen=True, kw_only=True):
    """One of several measurements that share most parameters."""

    identifier: str
    params: Params = {}


class Measurement(_Block, frozen=True, kw_only=True):
    """One call of a measurement, which usually starts it or gathers what it found."""

    method: str = ""
    params: Params = {}
    identifier: str = ""
    instances: list[Instance] = []


class ModuleRef(_Block, frozen=True, kw_only=True):
    """A file with steps that take the place of this one."""

    path: str = ""
    params: Params = {}


class Step(_Block, frozen=True, kw_only=True):
    """Phases, or measurements, or a module; what is in one step runs side by side."""

    phases: list[Phase] = []
    measurements: list[Measurement] = []
    module: ModuleRef = ModuleRef()
    name: str = ""


class Module(_Block, frozen=True, kw_only=True):
    """What a module's file holds."""

    steps: list[Step] = []


class Namespaces(_Block, frozen=True, kw_only=True):
    """The namespaces that the test makes, and what becomes of them."""

    number: Count = 0
    """0 stands for 1."""
    prefix: str = ""
    """Empty for test- and six random characters."""
    delete_stale_namespaces: bool | None = None
    delete_automanaged_namespaces: bool | None = None
    enable_existing_namespaces: bool | None = None
    delete_namespace_timeout: Duration | None = None


class ChaosMonkey(_Block, frozen=True, kw_only=True):
    """Nodes that fail; there is none of that here."""

    node_failure: Any = None
    excluded_nodes: dict[str, Any] = {}


class Config(_Block, frozen=True, kw_only=True):
    name: str = ""
    dependencies: list[Any] = []
    automanaged_namespaces: Count = 0
    """The older spelling of namespace.number."""
    namespace: Namespaces = Namespaces()
    steps: list[Step] = []
    tuning_sets: list[TuningSet] = []
    chaos_monkey: ChaosMonkey = ChaosMonkey()


class Scenario(_Block, frozen=True, kw_only=True):
    identifier: str = ""
    config_path: str
    override_paths: list[str] = []
