// Sends a file as any program with tus-js-client does, and prints what came of it.
// node send.mjs ENDPOINT AUTHORIZATION PATH CHUNK METADATA, where CHUNK is a number of bytes or "whole".
import { createReadStream, statSync } from "node:fs";
import { basename } from "node:path";
import * as tus from "tus-js-client";

const [, , endpoint, authorization, path, chunk, metadata] = process.argv;
let fileId = null;
let breaks = 0;

await new Promise((done, failed) => {
  const upload = new tus.Upload(createReadStream(path), {
    endpoint,
    headers: { Authorization: authorization },
    metadata: { filename: basename(path), ...JSON.parse(metadata) },
    uploadSize: statSync(path).size,
    chunkSize: chunk === "whole" ? Number.POSITIVE_INFINITY : Number(chunk),
    retryDelays: Array(40).fill(100),
    onShouldRetry: () => {
      breaks += 1;
      return true;
    },
    onAfterResponse: (_request, response) => {
      fileId = response.getHeader("X-File-Id") ?? fileId;
    },
    onError: failed,
    onSuccess: done,
  });
  upload.start();
});
console.log(JSON.stringify({ fileId, breaks }));
