#include "components/models/torchscript_code.hpp"

#include <catch2/catch_all.hpp>

namespace runner {

TEST_CASE("torchscript code that computes is let pass") {
  for (const char* code : {
           "class M(Module):\n  def forward(self, x: Tensor) -> Tensor:\n    return torch.relu(x)\n",
           "_0 = getattr(self, \"0\")\n_1 = __torch__.torch.nn.functional.relu(x, False, )",
           "x = ops.prim.data(y)\nsave = 1\nreturn torch.add(x, save)",
           "ops.prim.RaiseException(\"do not torch.save(this)\")",
           "# torch.save(x)\n",
           "torch.warn(\"careful\", 2)",
       }) {
    INFO(code);
    CHECK(effect_of_code(code).empty());
  }
}

TEST_CASE("torchscript code that does more is found, however it is written") {
  for (const char* code : {
           "torch.save(x, \"file\")",
           "ops.aten.save(x, \"file\")",
           "torch . save (x)",
           "t = torch\nt.save(x)",
           "t = torch\nu = t",
           "o = ops\n",
           "ops.c10d.send(x)",
           "ops.prim.rpc_sync(x)",
           "getattr(torch, \"sa\" \"ve\")(x, \"f\")",
           "getattr(self, \"s\\x61ve\")(x)",
           "getattr(ops, \"rpc\")",
           "torch.from_file(\"f\", True, 100)",
           "print(\"\\x1b[2J\")",
           "__torch__.torch.classes.dist.Store()",
       }) {
    INFO(code);
    CHECK_FALSE(effect_of_code(code).empty());
  }
}

}  // namespace runner
