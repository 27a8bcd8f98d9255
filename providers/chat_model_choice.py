"""Says which model answers chats: the one that the operator named, else the embedded answerer."""

from providers.anthropic_messages import AnthropicMessages
from providers.calls import Calls
from providers.chat_models import ChatModel
from providers.embedded.answerer import Embedded
from providers.model_kinds import SILENCE_SECONDS, ModelKind
from providers.openai_chat import OpenaiChat


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
        return Embedded()
    match kind:
        case ModelKind.OPENAI:
            return OpenaiChat(url, name, key, silence=silence, calls=calls)
        case ModelKind.ANTHROPIC:
            return AnthropicMessages(url, name, key, silence=silence, calls=calls)
