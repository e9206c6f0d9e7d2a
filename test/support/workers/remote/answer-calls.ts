// How the test Workers are driven from Node. A POST's JSON names a method and its arguments; the answer is the method's
// value as JSON. The harness's own proxies will not do. They block Node while they wait, and a runtime that waits for
// Node to read its log lines never answers. What they hand out are proxies again, not values.

/** Answers the request by the method of `target` that it names; what that throws becomes the text of a 500. */
export async function answerCall(request: Request, target: object): Promise<Response> {
  const { method, args }: { method: string; args: unknown[] } = await request.json();
  try {
    const called: unknown = Reflect.get(target, method);
    if (typeof called !== "function") throw new TypeError(`there is no method ${method}`);
    const value: unknown = await Reflect.apply(called, target, args);
    return Response.json({ value });
  } catch (error) {
    return new Response(String(error), { status: 500 });
  }
}
