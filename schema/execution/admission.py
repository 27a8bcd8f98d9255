"""Says whether an operation may run: its document, its variables, and what it may cost at most."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import orjson
from graphql import GraphQLError

from contract.costs import CostReport
from contract.errors import CostExceeded, GatewayError, LimitExceeded, Problem, Problems, Unauthenticated
from contract.limits import COST_MAX, ERRORS_MAX, HEAVIEST_SHOWN, OPERATION_NODES_MAX
from resolvers.shared.context import Context
from schema.execution.answers import answered, needs_credential, refused, without_cost
from schema.execution.compiled import Compiled
from schema.execution.costs import Sum
from schema.execution.documents import Documents, Operation
from schema.execution.public_documents import PublicDocuments
from schema.execution.requests import Answer, Request
from schema.execution.values import Values
from transport.request_log import RequestLog


@dataclass(frozen=True, slots=True)
class Admitted:
    """An operation that may run, with the coerced values of its variables, and what it asks for: `requested` points."""

    operation: Operation
    compiled: Compiled
    values: Values
    asked: Sum
    requested: int


class Admission:
    """Looks at requests before they run."""

    def __init__(self, documents: Documents, public: PublicDocuments) -> None:
        self._documents = documents
        self._public = public

    async def open(self, request: Request, record: RequestLog | None, *, is_member: bool) -> None:
        """Reads the request's document, and notes what it asks for.

        Raises Unauthenticated or AnonymousLimited for a caller without a credential.
        """
        if is_member:
            request.document = self._documents.prepare(request.query)
        else:
            await self._public.open(request, record)
        operation = None if request.document is None else request.document.operation(request.operation_name)
        request.operation = operation
        if operation is not None and record is not None:
            record.operation = operation.label
            record.name = operation.node.name.value if operation.node.name else None

    async def admit(self, request: Request, context: Context) -> Admitted | Answer:
        """Returns the operation with its variables, or the answer that says why it may not run.

        Every way to run an operation leads through here: by its steps or by the library, once or for each event.
        """
        is_member = context.principal is not None
        if request.document is None:
            try:
                await self.open(request, None, is_member=is_member)
            except Unauthenticated as error:
                return needs_credential(error, context)
        operation = request.operation
        if operation is None:
            errors = () if request.document is None else request.document.errors
            return refused(errors or _unknown_operation(request.operation_name), context)
        if not is_member and not operation.is_public:
            return needs_credential(Unauthenticated(), context)
        if request.answer is not None:
            return without_cost(Answer({"data": orjson.Fragment(request.answer)}, executed=True))
        try:
            values = operation.variables.coerced(request.variables or {}, suggesting=is_member)
        except (LimitExceeded, Problems) as error:
            return refused([GraphQLError(error.message, operation.node, original_error=error)], context)
        if isinstance(values, list):
            return without_cost(answered(None, values, context))
        compiled = operation.compiled(values, is_kept=is_member)  # a document of any other caller is not kept itself
        asked = compiled.cost.requested(values)
        requested = asked.points
        if requested > COST_MAX or asked.nodes > OPERATION_NODES_MAX:
            return refused([_too_heavy(operation, compiled, values)], context)
        return Admitted(operation, compiled, values, asked, requested)

    def estimate(self, text: str, variables: object, operation_name: str | None) -> CostReport:
        """Says what an operation would cost. Raises Problems, or LimitExceeded."""
        if variables is not None and not isinstance(variables, dict):
            raise Problems([Problem(("variables",), "must be an object")])
        document = self._documents.prepare(text)
        operation = document.operation(operation_name)
        if operation is None:
            errors = document.errors or _unknown_operation(operation_name)
            raise _problems("document" if document.errors else "operationName", errors)
        values = operation.variables.coerced(variables or {})
        if isinstance(values, list):
            raise _problems("variables", values)
        cost = operation.compiled(values).cost
        return CostReport(cost.requested(values).points, COST_MAX, cost.heaviest(values, HEAVIEST_SHOWN))


def _unknown_operation(name: str | None) -> Sequence[GraphQLError]:
    if name is None:
        return (GraphQLError("operationName is needed where a document has none or several operations."),)
    return (GraphQLError("The document has no operation of the name in operationName."),)


def _too_heavy(operation: Operation, compiled: Compiled, values: Mapping[str, object]) -> GraphQLError:
    """CostExceeded as the library's error, with the places that are to be made smaller."""
    asked = compiled.cost.requested(values)
    by_nodes = asked.points <= COST_MAX
    number, limit = (asked.nodes, OPERATION_NODES_MAX) if by_nodes else (asked.points, COST_MAX)
    what = f"give {number} nodes" if by_nodes else f"cost {number} points"
    heaviest = compiled.cost.heaviest(values, HEAVIEST_SHOWN, by_nodes=by_nodes)
    shown = ", ".join(f"{line.path} {line.cost}" for line in heaviest)
    error = CostExceeded(f"The operation may {what}; the limit is {limit}. Heaviest: {shown}", number, limit, heaviest)
    return GraphQLError(error.message, operation.node, original_error=error)


def _problems(name: str, errors: Sequence[GraphQLError]) -> GatewayError:
    """Says what is wrong with an argument of costEstimate."""
    cause = errors[0].original_error
    if isinstance(cause, GatewayError):
        return cause
    return Problems([Problem((name,), error.message[:_PROBLEM_SHOWN]) for error in errors[:ERRORS_MAX]])


_PROBLEM_SHOWN = 200
