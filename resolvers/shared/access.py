"""The guard: one rule per operation, declared on its resolver, enforced there for both surfaces.

The SDL's directive and sentence, the OpenAPI text and the test that no operation is without a rule are all read off
the same declaration.
"""

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import update_wrapper
from typing import Concatenate, Never, ParamSpec, TypeVar

from contract.errors import Forbidden, NotInPerson, OrganizationRequired, Proposed, Unauthenticated
from contract.scopes import ScopeGroup
from contract.tracing import current as running_span
from identity.principal import Principal
from resolvers.shared.context import Context
from resolvers.shared.idempotency import key_needed, once
from storage.queries.listable import Listable
from storage.rows import Row

P = ParamSpec("P")
R = TypeVar("R")
_Resolver = Callable[Concatenate[Context, P], Coroutine[object, Never, R]]


@dataclass(frozen=True, slots=True)
class Rule:
    """Says who may: holders of any scope of the group, with an active organization unless it needs none.

    Without a group any valid credential will do. What `writes` is made once under an idempotency key, which some
    operations need (decision 112). What is `in_person` belongs to the caller alone, and is out of the reach of
    organization keys and exchanged tokens (decision 154).
    """

    group: ScopeGroup | None
    organization: bool = True
    writes: bool = False
    needs_key: bool = False
    in_person: bool = False

    def enforce(self, principal: Principal | None) -> None:
        """Let the caller through; else Unauthenticated, OrganizationRequired, Forbidden, NotInPerson, in this order."""
        if principal is None:
            raise Unauthenticated()
        if self.organization and principal.organization is None:
            raise OrganizationRequired()
        if self.group is not None and not self.group.passes(principal.scopes):
            raise Forbidden(self.group, principal.scopes)
        if self.in_person and not principal.manages_user_tokens:
            raise NotInPerson()

    def admits(self, principal: Principal | None) -> bool:
        """Says whether the caller would be let through."""
        return (
            principal is not None
            and (not self.organization or principal.organization is not None)
            and (self.group is None or self.group.passes(principal.scopes))
            and (not self.in_person or principal.manages_user_tokens)
        )

    @property
    def line(self) -> str:
        """The rule in one line, by its group's name, whose scopes a description has once (decision 903)."""
        if self.group is None:
            return "Needs a valid credential."
        way = "Only with a session or a user token itself. " if self.in_person else ""
        return f"{way}Needs {self.group.name}{', in an organization' if self.organization else ''}."


OPERATIONS: dict[str, Rule] = {}
"""Every guarded resolver, as `module.function`, with its rule."""

FINDABLE: dict[str, tuple[Listable[Row], Rule]] = {}
"""The types that can be found by an identifier alone, by name, with the rule of the operation that reads them."""


def requires(
    group: ScopeGroup | None,
    *,
    organization: bool = True,
    writes: bool = False,
    needs_key: bool = False,
    in_person: bool = False,
    finds: Sequence[Listable[Row]] = (),
) -> Callable[[_Resolver[P, R]], _Resolver[P, R]]:
    """Guard a resolver: `@requires(CRM_MANAGE)`. The rule is checked before the body runs.

    A resolver that `writes` is run once for each idempotency key; one that `needs_key` is not run without. Records that
    it `finds` are found by `node` too, under the same rule (decision 186).
    """
    rule = Rule(group, organization, writes, needs_key, in_person)
    for listable in finds:
        if listable.typename in FINDABLE:
            raise TypeError(f"{listable.typename} is found by another resolver already, under its rule")
        FINDABLE[listable.typename] = (listable, rule)

    def guard(resolver: _Resolver[P, R]) -> _Resolver[P, R]:
        name = f"{resolver.__module__.rpartition('.')[2]}.{resolver.__name__}"

        async def guarded(ctx: Context, /, *args: P.args, **kwargs: P.kwargs) -> R:
            rule.enforce(ctx.principal)
            if writes and ctx.instead is not None:
                ctx.instead(name, args)
                raise Proposed()
            span = None if (around := running_span()) is None else around.child(name)
            try:
                if writes and (key := ctx.key) is not None:
                    return await once(ctx, key, name, resolver, args, kwargs)
                if needs_key:
                    raise key_needed()
                return await resolver(ctx, *args, **kwargs)
            except BaseException as error:
                if span is not None:
                    span.fail(error)
                raise
            finally:
                if span is not None:
                    span.end()

        OPERATIONS[name] = rule
        update_wrapper(guarded, resolver)
        guarded.rule = rule  # type: ignore[attr-defined]  # read back by rule_of
        return guarded

    return guard


def rule_of(resolver: Callable[..., object]) -> Rule:
    """The rule that guards a resolver."""
    rule: Rule = resolver.rule  # type: ignore[attr-defined]  # which `requires` put there
    return rule
