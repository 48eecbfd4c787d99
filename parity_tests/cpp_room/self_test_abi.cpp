// SelfTest() of a generated header behind a C ABI: Python plays the engine's loader and hands over what it parsed.
#include "contract.hpp"

extern "C" unsigned rigpact_self_test(const rigpact::EngineSide* engine, int is_float, const char** what, int* index) {
    const rigpact::SelfTestResult result =
        is_float ? rigpact_contract::SelfTest<float>(*engine) : rigpact_contract::SelfTest<double>(*engine);
    *what = result.what;
    *index = result.index;
    return result.failed;
}
