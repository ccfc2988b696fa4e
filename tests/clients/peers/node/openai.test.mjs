// openai-node. Addresses and names come from openai_node_test.py, by the environment.
import assert from 'node:assert/strict';
import test from 'node:test';

import OpenAI, { NotFoundError } from 'openai';

const { GATEWAY, MODEL, REPLICA_MODEL, TOOL_GATEWAY } = process.env;
const messages = [
  { role: 'system', content: 'You answer shortly.' },
  { role: 'user', content: 'What is a prefix cache?' },
];
const tools = [
  {
    type: 'function',
    function: {
      name: 'weather_in',
      parameters: { type: 'object', properties: { city: { type: 'string' } } },
    },
  },
];

function clientOf(url) {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: 'unused', maxRetries: 0, timeout: 20000 });
}
const client = clientOf(GATEWAY);

test('a chat completes', async () => {
  const answer = await client.chat.completions.create({ model: MODEL, messages, max_tokens: 8 });
  assert.ok(answer.choices[0].message.content);
  assert.equal(answer.model, REPLICA_MODEL);
  assert.equal(answer.usage.completion_tokens, 8);
});

test('a chat streams with usage at the end', async () => {
  const stream = await client.chat.completions.create({
    model: MODEL,
    messages,
    max_tokens: 8,
    stream: true,
    stream_options: { include_usage: true },
  });
  let text = '';
  let usage;
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta.content ?? '';
    usage = chunk.usage ?? usage;
  }
  assert.ok(text);
  assert.equal(usage.completion_tokens, 8);
});

test('a stream that is left ends the request', async () => {
  const stream = await client.chat.completions.create({
    model: MODEL,
    messages,
    max_tokens: 4000,
    stream: true,
  });
  for await (const chunk of stream) {
    if (chunk.choices[0]?.delta.content) break;
  }
  const answer = await client.chat.completions.create({ model: MODEL, messages, max_tokens: 2 });
  assert.ok(answer.choices[0].message.content);
});

test('the raw response has the fields of the gateway', async () => {
  const { data, response, request_id } = await client.chat.completions
    .create({ model: MODEL, messages, max_tokens: 8 })
    .withResponse();
  assert.ok(data.choices[0].message.content);
  assert.match(response.headers.get('x-rolter-target'), /^vllm-[12]\//);
  assert.equal(request_id, response.headers.get('x-request-id'));
});

test('a response completes and streams', async () => {
  const answer = await client.responses.create({ model: MODEL, input: 'What?', max_output_tokens: 8 });
  assert.ok(answer.output_text);
  const stream = await client.responses.create({
    model: MODEL,
    input: 'What?',
    max_output_tokens: 8,
    stream: true,
  });
  const types = [];
  for await (const event of stream) types.push(event.type);
  assert.equal(types[0], 'response.created');
  assert.equal(types.at(-1), 'response.completed');
});

test('a tool is called, whole and streamed', async () => {
  const caller = clientOf(TOOL_GATEWAY);
  const request = { model: 'caller', messages, tools };
  const whole = await caller.chat.completions.create(request);
  assert.equal(whole.choices[0].finish_reason, 'tool_calls');
  const streamed = await caller.chat.completions.stream(request).finalChatCompletion();
  for (const answer of [whole, streamed]) {
    const called = answer.choices[0].message.tool_calls[0].function;
    assert.equal(called.name, 'weather_in');
    assert.deepEqual(JSON.parse(called.arguments), { city: 'Paris' });
  }
});

test('an unknown model is not found', async () => {
  await assert.rejects(
    client.chat.completions.create({ model: 'nobody', messages }),
    (error) => error instanceof NotFoundError && error.code === 'model_not_found',
  );
});
