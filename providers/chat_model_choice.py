"""Says which model answers chats: the one that the operator named, else the embedded answerer."""

from providers.calls import Calls
from providers.chat_models import ChatModel
from providers.model_kinds import SILENCE_SECONDS, ModelKind


def chat_model(
    url: str | None,
    name: str = "",
    key: str = "",
    *,
    kind: ModelKind = ModelKind.OPENAI,
    silence: float = SILENCE_SECONDS,
    calls: Calls | None = None,
) -> ChatModel:
    """The model behind the address; without one the embedded answerer."""
    if url is None:
        from providers.embedded.answerer import Embedded  # each with what it alone needs

        return Embedded()
    match kind:
        case ModelKind.OPENAI:
            from providers.openai_chat import OpenaiChat

            return OpenaiChat(url, name, key, silence=silence, calls=calls)
        case ModelKind.ANTHROPIC:
            from providers.anthropic_messages import AnthropicMessages

            return AnthropicMessages(url, name, key, silence=silence, calls=calls)
