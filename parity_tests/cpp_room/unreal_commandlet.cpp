// UnrealEditor-Cmd on the stub: starts the game's modules and runs the commandlet. unreal_commandlet PARAMETERS
#include "RigpactCommandlet.h"

int main(int, char** words) {
    unreal_stub::is_commandlet = true;
    for (const auto& module : unreal_stub::modules) module->StartupModule();
    URigpactCommandlet commandlet;
    return commandlet.Main(unreal_stub::wide(words[1]).c_str());
}
