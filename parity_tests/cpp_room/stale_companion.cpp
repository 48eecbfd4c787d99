// The start-up test with both files: prints which of (right, stale) companions it accepts, and the header that the recorder gets.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "contract.hpp"

static std::string content(const char* path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

int main(int count, char** paths) {
    if (count != 3) return 2;
    const std::string bundle = content(paths[1]), companion = content(paths[2]), stale = companion + "\n";
    const rigpact::SelfTestResult right =
        rigpact_contract::SelfTest(bundle.data(), bundle.size(), companion.data(), companion.size());
    const rigpact::SelfTestResult wrong = rigpact_contract::SelfTest(bundle.data(), bundle.size(), stale.data(), stale.size());
    const rigpact::TraceHeader header = rigpact_contract::TraceHeaderOf("MyEngine", "1", "free");
    std::printf("%d %d %s\n%s\n", right.ok(), wrong.ok(), wrong.what, header.companion_sha256);
    return 0;
}
