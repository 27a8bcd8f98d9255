"""One variant of an operation, with all that is read off its tree."""

from dataclasses import dataclass
from functools import cached_property

from schema.execution.costing import cost_of
from schema.execution.costs import OperationCost
from schema.execution.planner import steps_of
from schema.execution.sources import Reason
from schema.execution.steps import Steps
from schema.execution.tree import Tree


@dataclass(frozen=True)
class Compiled:
    """A variant, priced when it is first asked for and planned when it first runs."""

    tree: Tree

    @cached_property
    def cost(self) -> OperationCost:
        """The costs of the operation."""
        return cost_of(self.tree)

    @cached_property
    def steps(self) -> Steps | Reason:
        """The way it runs, or why the library runs it."""
        return steps_of(self.tree)
