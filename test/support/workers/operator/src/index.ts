// An operator's Worker: nothing but bindings. Tests and the demo act through them from outside.

export default {
  fetch: () => new Response("Not found\n", { status: 404 }),
} satisfies ExportedHandler;
