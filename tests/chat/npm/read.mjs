// Reads runs as a page with the AI SDK does, and prints the message that it puts together.
// node read.mjs run ADDRESS AUTHORIZATION THREAD TEXT, or: node read.mjs file PATH
import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import { DefaultChatTransport, parseJsonEventStream, readUIMessageStream, uiMessageChunkSchema } from "ai";

async function whole(stream) {
  const errors = [];
  let message = null;
  for await (const each of readUIMessageStream({ stream, onError: (error) => errors.push(error.message) })) {
    message = each;
  }
  return { message, errors };
}

async function run(address, authorization, thread, text) {
  const transport = new DefaultChatTransport({
    api: `${address}/chat/threads/${thread}/messages?protocol=ai-sdk`,
    headers: { Authorization: authorization },
    prepareSendMessagesRequest: ({ messages, headers }) => ({
      headers,
      body: { text: messages.at(-1).parts.map((part) => part.text).join("") },
    }),
    prepareReconnectToStreamRequest: ({ id, headers }) => ({
      headers,
      api: `${address}/chat/runs/${id}/events?protocol=ai-sdk`,
    }),
  });
  const messages = [{ id: "1", role: "user", parts: [{ type: "text", text }] }];
  const sent = await whole(await transport.sendMessages({ trigger: "submit-message", chatId: thread, messages }));
  const again = await whole(await transport.reconnectToStream({ chatId: sent.message.id }));
  return { ...sent, again };
}

async function file(path) {
  const stream = parseJsonEventStream({ stream: Readable.toWeb(createReadStream(path)), schema: uiMessageChunkSchema });
  const chunks = stream.pipeThrough(
    new TransformStream({
      transform(chunk, controller) {
        if (!chunk.success) throw chunk.error;
        controller.enqueue(chunk.value);
      },
    }),
  );
  return whole(chunks);
}

const [, , kind, ...rest] = process.argv;
console.log(JSON.stringify(await (kind === "run" ? run(...rest) : file(...rest))));
