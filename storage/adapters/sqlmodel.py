"""SQLModel below its documented surface: its registry of tables, and its metaclass."""

from collections.abc import Iterable

from sqlalchemy.orm import Mapper
from sqlmodel import SQLModel
from sqlmodel._compat import SQLModelConfig
from sqlmodel.main import SQLModelMetaclass

__all__ = ["SQLModelConfig", "SQLModelMetaclass", "mappers", "set_on_class"]


def mappers() -> Iterable[Mapper[SQLModel]]:
    """SQLAlchemy's mapper of every table, all of which are loaded for that."""
    from storage.tables import load_all  # whose classes are made by what stands here

    load_all()
    return SQLModel._sa_registry.mappers


def set_on_class(model: type[SQLModel], name: str, descriptor: object) -> None:
    """Give a model an attribute of the class; the metaclass would take it for a column or a relationship."""
    type.__setattr__(model, name, descriptor)
