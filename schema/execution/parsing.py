"""Parses documents of a bounded number of tokens."""

from contextlib import suppress

from graphql import DocumentNode, GraphQLSyntaxError, Lexer, Source, TokenKind, parse


class TooManyTokens(Exception):
    """A text has more tokens than it may have."""


def parsed(text: str, most: int) -> DocumentNode:
    """Parses a text of at most so many tokens. Raises TooManyTokens, GraphQLSyntaxError or RecursionError."""
    try:
        return parse(text, max_tokens=most)
    except GraphQLSyntaxError as error:
        for position in error.positions or ():
            if _tokens_up_to(text, position) > most:
                raise TooManyTokens from None
        raise


def _tokens_up_to(text: str, position: int) -> int:
    """Counts the tokens that begin up to there, comments among them, as the parser does, which gives up at the first
    one too many.
    """
    lexer = Lexer(Source(text))
    token, count = lexer.token, 0
    with suppress(GraphQLSyntaxError):  # the text is wrong there
        while lexer.token.start < position and lexer.token.kind is not TokenKind.EOF:
            lexer.advance()
    while token.next is not None and token.next.start <= position and token.next.kind is not TokenKind.EOF:
        token, count = token.next, count + 1
    return count
